// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "run/journal/reader.hpp"

namespace curtail::journal {

/// What the journals of some sites contain.
struct JournalSummary {
    std::int64_t sites{};    ///< sites that have published something
    std::int64_t streams{};  ///< streams that have at least one piece
    std::int64_t pieces{};
    std::int64_t bytes{};  ///< of the pieces' contents
};

/// Reads every piece of the sites' journals and checks that it is whole and follows from the one
/// before it. Fails with `protocol` at the first stream with a fault; the message names the piece.
/// Returns the errors of `reader` unchanged.
[[nodiscard]] Result<JournalSummary> verify_journals(Reader const& reader,
                                                     std::vector<SiteId> const& sites);

}  // namespace curtail::journal
