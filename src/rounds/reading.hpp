// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/ids.hpp"
#include "rounds/record.hpp"

// Rules shared by all programs that read a chain: curtail-train, curtail-status, curtail-report.
namespace curtail::rounds {

/// Returns the number of the commit to read next in the search for the newest one. `found` is the
/// greatest number found so far. `missing` is the smallest number above `found` that was missing.
/// Both are 0 at the start.
///
/// The search asks for 1, 2, 4, ... until a number is missing. It then bisects, because the chain
/// has no gaps. It ends when `found` + 1 is missing.
[[nodiscard]] CommitNumber next_to_read(CommitNumber found, CommitNumber missing);

/// Returns true if the member is suspect: other members may remove it as silent. `now` is the
/// current time by the store's clock. One of two conditions suffices:
/// - Member::missed is at least `max_missed`;
/// - Member::seen is more than `drop_after` + `skew` before `now`.
[[nodiscard]] bool is_suspect(Params const& params, Member const& member, Time now);

}  // namespace curtail::rounds
