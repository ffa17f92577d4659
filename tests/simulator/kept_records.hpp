// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unordered_map>

#include "protocol/records/decoder.hpp"

namespace curtail::protocol::simulator {

/// Decodes each record once.
class KeptRecords : public RecordDecoder {
  public:
    [[nodiscard]] Result<Commit> commit(std::string const& bytes,
                                        std::string const& name) const override
    {
        return kept(commits_, bytes, name, decode_commit);
    }
    [[nodiscard]] Result<Header> header(std::string const& bytes,
                                        std::string const& name) const override
    {
        return kept(headers_, bytes, name, decode_header);
    }

  private:
    // By the records' names, then by their bytes.
    template <class Record>
    using Table = std::unordered_map<std::string, std::unordered_map<std::string, Result<Record>>>;

    template <class Record>
    static Result<Record> kept(Table<Record>& table, std::string const& bytes,
                               std::string const& name,
                               Result<Record> (*decode)(std::string_view, std::string const&))
    {
        auto& versions = table[name];
        auto const it = versions.find(bytes);
        if (it != versions.end()) return it->second;
        return versions.emplace(bytes, decode(bytes, name)).first->second;
    }

    mutable Table<Commit> commits_;
    mutable Table<Header> headers_;
};

}  // namespace curtail::protocol::simulator
