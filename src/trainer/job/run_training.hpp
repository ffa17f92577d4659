// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/records/record.hpp"
#include "trainer/job/leader_context.hpp"
#include "trainer/job/run_at_start.hpp"
#include "trainer/job/site_ranks.hpp"

namespace curtail::trainer {

/// Trains at one site as a member of a run. Ends when the site is asked to stop, the run is
/// complete, or an error ends the training. Returns true if the run is complete.
///
/// Only the leader calls this function, while the other ranks are in SiteRanks::follow(). The
/// caller dismisses them afterwards.
[[nodiscard]] Result<bool> train_in_run(SiteRanks& ranks, LeaderContext const& context,
                                        protocol::RunSpec const& spec, RunAtStart const& run);

}  // namespace curtail::trainer
