// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "protocol/records/record.hpp"

namespace curtail::protocol {

/// Decodes the records that a Site reads. A program that runs many Sites can replace it by one that
/// keeps its results: all Sites of a run read the same bytes. The results must be those of
/// decode_commit() and decode_header().
class RecordDecoder {
  public:
    explicit RecordDecoder(RecordLimits const& limits = {}) : limits_(limits) {}
    virtual ~RecordDecoder() = default;
    [[nodiscard]] virtual Result<Commit> commit(std::string const& bytes,
                                                std::string const& name) const
    {
        return decode_commit(bytes, name, limits_);
    }
    [[nodiscard]] virtual Result<Header> header(std::string const& bytes,
                                                std::string const& name) const
    {
        return decode_header(bytes, name, limits_);
    }

  private:
    RecordLimits limits_;
};

}  // namespace curtail::protocol
