// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "train/leader_context.hpp"
#include "train/site_ranks.hpp"

namespace curtail::train {

/// Trains without a store (`--alone`), from the snapshot's weights and position until
/// `training.steps`, the end of the stream or a stop request. Call on the leader.
[[nodiscard]] Result<void> train_alone(SiteRanks& ranks, LeaderContext const& context,
                                       std::int64_t stream_blocks);

}  // namespace curtail::train
