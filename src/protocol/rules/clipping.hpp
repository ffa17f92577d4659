// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "protocol/records/record.hpp"

namespace curtail::protocol {

/// Returns the norms that a merge with these decisions adds to Commit::norms: for each member whose
/// deltas it includes, in the order of `decided`, the smallest one. So each member has one vote, no
/// matter how many deltas it sends.
[[nodiscard]] std::vector<double> norms_in(std::span<ContributionDecision const> decided);

/// Returns the factor by which a merge clips each of the contributions `decided`: 1, or less for
/// a delta that is more than 6 times as long as usual (docs/rounds.md). `norms` are those of the
/// commit before (Commit::norms). With fewer than 8 of them, those of this merge count, too
/// (norms_in()).
///
/// Refused contributions, those without blocks, and those whose weights became the model have 1.
[[nodiscard]] std::vector<double> clip_factors(std::span<double const> norms,
                                               std::span<ContributionDecision const> decided);

}  // namespace curtail::protocol
