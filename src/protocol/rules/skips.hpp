// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "protocol/records/record.hpp"

// Blocks whose steps were skipped, because a loss or gradient was not finite (docs/rounds.md).
namespace curtail::protocol {

/// Returns how many blocks a run may set aside: Params::max_aside, or by default a thousandth of
/// the stream, at least 1.
[[nodiscard]] std::int64_t aside_limit(RunSpec const& run);

/// Records that a site has skipped blocks once more. Sets a block aside if a second site has
/// skipped it, or the same site for the third time. Sets no more blocks aside than aside_limit().
void count_skipped(RunSpec const& run, SiteId const& site, Ranges const& blocks, Commit& commit);

/// Removes blocks that the model now includes from Commit::skips.
void forget_skips(Ranges const& included, Commit& commit);

/// Returns the blocks that the site `site` has skipped and that another site can still try:
/// `members` includes a member of a site that has not skipped them.
[[nodiscard]] Ranges better_elsewhere(SiteId const& site, Commit const& commit,
                                      std::vector<Member> const& members);

}  // namespace curtail::protocol
