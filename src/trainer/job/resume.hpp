// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "storage/store/object_store.hpp"
#include "trainer/job/leader_context.hpp"
#include "trainer/job/site_ranks.hpp"

namespace curtail::trainer {

/// Resumes a site's training in a run from the site's snapshot, if there is one. Restores the
/// optimizer's state on all ranks, and sets the position and the training id in `context`. Does not
/// restore the weights, because a member loads them from the store. Ignores, with a warning, a
/// snapshot whose training id is not that of the run in the store (trainer/engine/training_id.hpp).
///
/// Fails with `data` if the snapshot is damaged or belongs to a training without a store. Fails
/// with `temporary` if the store does not answer in time (trainer/rounds/answer_in_time.hpp). Only
/// the leader calls this function.
[[nodiscard]] Result<void> resume_in_run(SiteRanks& ranks, LeaderContext& context,
                                         std::shared_ptr<store::ObjectStore> const& store);

/// Resumes a training without a store from the site's snapshot, if there is one. Restores the
/// weights and the optimizer's state on all ranks, and sets the position in `context`. The caller
/// must set `context.training_id` first. Fails with `data` if the snapshot is damaged or belongs to
/// another training. Only the leader calls this function.
[[nodiscard]] Result<void> resume_alone(SiteRanks& ranks, LeaderContext& context);

}  // namespace curtail::trainer
