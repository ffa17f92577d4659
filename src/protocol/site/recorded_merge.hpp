// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "protocol/site/messages.hpp"

namespace curtail::protocol {

/// Returns true if the model of a merge contains the contribution's work.
[[nodiscard]] inline bool adds_work(ContributionDecision const& d)
{
    return !d.refused && !d.ranges.empty();
}

/// Returns the merge that made the model of `made`, a merge commit without inlined work. `parent`
/// is the commit before it. `headers` are those of the contributions that add work, in the order of
/// Commit::decided; each has a delta.
[[nodiscard]] Merge recorded_merge(RunSpec const& run, Commit const& made, Commit const& parent,
                                   std::vector<Header> const& headers);

}  // namespace curtail::protocol
