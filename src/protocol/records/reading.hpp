// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/ids.hpp"
#include "protocol/records/record.hpp"

// Rules that the programs share when they read a chain.
namespace curtail::protocol {

/// Returns the number of the commit to read next in the search for the newest commit. `found` is
/// the greatest number whose commit exists, as far as known; 0: none yet. `missing` is the smallest
/// number above `found` whose commit was missing; 0: none yet.
///
/// The search reads the commits 1, 2, 4, ... until one is missing. It then bisects, because the
/// chain has no gaps. When `found` + 1 is missing, `found` is the newest commit, and the caller
/// ends the search.
[[nodiscard]] CommitNumber next_to_read(CommitNumber found, CommitNumber missing);

/// Returns true if the member is suspect: other members may remove it as silent. Member::seen is
/// then more than `drop_after` + `skew` before `now`, the current time by the store's clock.
[[nodiscard]] bool is_suspect(Params const& params, Member const& member, Time now);

/// Returns true if a run with this Params::milestone_every keeps the model of `round` for good.
[[nodiscard]] inline bool is_milestone(std::int64_t milestone_every, Round round)
{
    return milestone_every > 0 && round.value % milestone_every == 0;
}

}  // namespace curtail::protocol
