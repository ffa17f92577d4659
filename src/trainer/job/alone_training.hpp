// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "trainer/job/leader_context.hpp"
#include "trainer/job/site_ranks.hpp"

namespace curtail::trainer {

/// Trains without a store (`--alone`), from the position `context.start` on. The ranks must already
/// hold the weights of this position. Stops at the end of the stream, after a stop request, or
/// after `training.steps` steps (run file; 0: no limit). The steps before `context.start` count
/// too.
///
/// Saves a snapshot after the last step. If the loss of a step is not finite, fails with `data` and
/// saves no snapshot of this step. `stream_blocks` is the number of blocks in the stream, and
/// `end` the number of tokens (protocol::RunSpec::end()). Only the leader calls this function.
[[nodiscard]] Result<void> train_alone(SiteRanks& ranks, LeaderContext const& context,
                                       std::int64_t stream_blocks, Tokens end);

}  // namespace curtail::trainer
