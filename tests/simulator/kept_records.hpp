// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unordered_map>

#include "protocol/records/decoder.hpp"

namespace curtail::protocol::simulator {

/// Decodes each record once.
class KeptRecords : public RecordDecoder {
  public:
    using RecordDecoder::RecordDecoder;
    [[nodiscard]] Result<Commit> commit(std::string const& bytes,
                                        std::string const& name) const override
    {
        return kept(commits_, bytes, name, [&] { return RecordDecoder::commit(bytes, name); });
    }
    [[nodiscard]] Result<Header> header(std::string const& bytes,
                                        std::string const& name) const override
    {
        return kept(headers_, bytes, name, [&] { return RecordDecoder::header(bytes, name); });
    }

  private:
    // By the records' names, then by their bytes.
    template <class Record>
    using Table = std::unordered_map<std::string, std::unordered_map<std::string, Result<Record>>>;

    template <class Record, class Decode>
    static Result<Record> kept(Table<Record>& table, std::string const& bytes,
                               std::string const& name, Decode const& decode)
    {
        auto& versions = table[name];
        auto const it = versions.find(bytes);
        if (it != versions.end()) return it->second;
        return versions.emplace(bytes, decode()).first->second;
    }

    mutable Table<Commit> commits_;
    mutable Table<Header> headers_;
};

}  // namespace curtail::protocol::simulator
