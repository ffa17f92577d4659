// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "protocol/records/record.hpp"

// Blocks whose steps were skipped, because a loss or gradient was not finite (docs/rounds.md).
namespace curtail::protocol {

/// Returns how many blocks a run may set aside: Params::max_aside, or by default a thousandth of
/// the stream, at least 1.
[[nodiscard]] std::int64_t aside_limit(RunSpec const& run);

/// Returns true if no more blocks can be set aside: aside_limit() is reached, or one of the limits
/// of the record.
[[nodiscard]] bool is_aside_full(RunSpec const& run, Commit const& commit);

/// Records that a site has skipped blocks once more. Sets a block aside if a second site has
/// skipped it, or the same site for the third time. Sets no more blocks aside than aside_limit(),
/// and leaves at most RecordLimits::aside_ranges ranges.
void count_skipped(RunSpec const& run, SiteId const& site, Ranges const& blocks, Commit& commit);

/// Removes blocks that the model now includes from Commit::skips.
void forget_skips(RunSpec const& run, Ranges const& included, Commit& commit);

/// Returns the blocks that the site `site` has skipped and that another site can still try:
/// `members` includes a member of a site that has not skipped them.
[[nodiscard]] Ranges better_elsewhere(SiteId const& site, Commit const& commit,
                                      std::vector<Member> const& members);

}  // namespace curtail::protocol
