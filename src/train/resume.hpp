// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/object_store.hpp"
#include "train/leader_context.hpp"
#include "train/site_ranks.hpp"

namespace curtail::train {

/// Resumes a member of a run from the site's snapshot, if it exists: optimizer state on all ranks,
/// position and owner in `context`. Ignores a snapshot of an earlier instance of the run. Fails
/// with `data` if the snapshot is damaged or belongs to a training without a store.
[[nodiscard]] Result<void> resume_in_run(SiteRanks& ranks, LeaderContext& context,
                                         store::ObjectStore& store);

/// Resumes a training without a store: weights too. `context.owner` must be set. Fails with `data`
/// if the snapshot is damaged or belongs to another training.
[[nodiscard]] Result<void> resume_alone(SiteRanks& ranks, LeaderContext& context);

}  // namespace curtail::train
