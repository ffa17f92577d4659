// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/record.hpp"
#include "store/object_store.hpp"
#include "train/leader_context.hpp"
#include "train/site_ranks.hpp"

namespace curtail::train {

/// Trains one site as a member of a run until it is asked to leave or the run is complete. Call on
/// the leader, while the other ranks are in SiteRanks::follow(); the caller dismisses them. Returns
/// true if the run is complete.
[[nodiscard]] Result<bool> train_in_run(SiteRanks& ranks, LeaderContext const& context,
                                        rounds::RunSpec const& spec, store::ObjectStore& store);

}  // namespace curtail::train
