// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace curtail::protocol {

/// The greatest size of any stored record. Readers refuse a longer one.
inline constexpr std::size_t record_bytes_limit = std::size_t{1024} * 1024;

/// How long the lists of a run's records may become (docs/rounds.md, "Long lists"). The rules keep
/// within these limits: a site cuts early, and a commit grants less. All sites of a run have the
/// same limits. Only the simulator changes them.
struct RecordLimits {
    std::size_t bytes{record_bytes_limit};  ///< longest header or commit
    std::size_t members{1000};              ///< most members in a commit
    std::size_t header_ranges{256};         ///< most ranges in each set of a header
    std::size_t skipped_ranges{256};        ///< most ranges in Commit::skips together
    std::size_t aside_ranges{1024};         ///< Commit::aside gets no more ranges than this
    /// Grants give the members together no more ranges than this, but at least one range to each.
    std::size_t held_ranges{1024};
    friend bool operator==(RecordLimits const&, RecordLimits const&) = default;
};

}  // namespace curtail::protocol
