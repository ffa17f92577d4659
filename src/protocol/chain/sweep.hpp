// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "protocol/chain/run_objects.hpp"
#include "protocol/upkeep/sweep.hpp"

// Lists a run's payloads, and deletes those that protocol/upkeep/sweep.hpp allows to delete.
namespace curtail::chain {

/// An object or leftover, and what a sweep does with it.
struct SweepDecision {
    upkeep::StoredObject object;
    upkeep::SweepReason reason;
    std::string upload{};  ///< id of the upload, if it is one
    bool leftover{false};
};

/// What a sweep would do.
struct SweepPlan {
    CommitNumber newest;  ///< the newest commit, read after the listing
    Round round;
    Time now;  ///< by the store's clock
    std::vector<SweepDecision> decisions;
};

/// Lists `models/`, `deltas/` and the leftovers of all folders of the run. Then reads the chain and
/// decides about each. `now` is the time by the store's clock. Changes nothing.
///
/// Fails with `no_input` if the run has no commit. Fails with `protocol` if the chain is invalid.
[[nodiscard]] Result<SweepPlan> plan_sweep(chain::RunObjects const& objects, Time now,
                                           upkeep::SweepRules const& rules = {});

/// What a sweep has done.
struct SweepResult {
    std::int64_t deleted{};
    Bytes freed;  ///< without the parts of uploads, whose size the store does not tell
    std::vector<Error> errors;  ///< of the objects that could not be deleted
};
/// Deletes what the plan allows to delete. Goes on after an error. Several sweeps may run at a
/// time, while sites train; each counts what the others deleted before as deleted too. `progress`
/// receives the number of objects that are done. Ends early if the CallLimits of `objects` are
/// over.
[[nodiscard]] SweepResult carry_out(chain::RunObjects const& objects, SweepPlan const& plan,
                                    std::function<void(std::int64_t done)> const& progress = {});

}  // namespace curtail::chain
