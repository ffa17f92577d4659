// SPDX-License-Identifier: Apache-2.0
#include "protocol/upkeep/kept_rounds.hpp"

#include <algorithm>

#include "protocol/records/reading.hpp"

namespace curtail::upkeep {

void KeptRounds::add(protocol::Commit const& commit)
{
    auto const& params = commit.terms.params;
    oldest_ = std::max(oldest_, Round{commit.round.value - params.keep_models + 1});
    deleted_before_[params.milestone_every] = oldest_;
}

bool KeptRounds::keeps_weights(Round round) const
{
    return std::ranges::all_of(deleted_before_, [&](auto const& deletion) {
        return round >= deletion.second || protocol::is_milestone(deletion.first, round);
    });
}

}  // namespace curtail::upkeep
