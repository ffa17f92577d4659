// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "train/leader_context.hpp"
#include "train/site_ranks.hpp"

namespace curtail::train {

/// Trains without a store (`--alone`). Starts with the weights that the ranks hold, at the position
/// `context.start`. Ends after `training.steps` steps in total, at the end of the data, or after a
/// stop request. Then saves a snapshot. Fails with `data` if the loss of a step is not finite.
/// `stream_blocks` is the number of blocks in all epochs together. Only the leader calls this
/// function.
[[nodiscard]] Result<void> train_alone(SiteRanks& ranks, LeaderContext const& context,
                                       std::int64_t stream_blocks);

}  // namespace curtail::train
