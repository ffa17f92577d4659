// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "poller/plan/job_limits.hpp"
#include "poller/plan/update.hpp"

namespace curtail::plan {

/// Returns the id of a submission that is decided at the real time `now`.
[[nodiscard]] IntentId intent_at(Time now);
/// Returns when a submission was decided. Returns an empty optional if intent_at() did not make the
/// id.
[[nodiscard]] std::optional<Time> time_of(IntentId const& intent);

/// Returns the tracked job whose id is `id`, or null if there is none. The pointer is into `state`.
[[nodiscard]] TrackedJob* find(SiteState& state, JobId const& id);
/// Returns the listed job that is the tracked job `tracked`, or null if there is none. The pointer
/// is into `jobs`. A listed job is the tracked job if the two have the same id and the same intent.
/// Slurm keeps the intent in the job's comment. If the comment is unreadable, only the ids are
/// compared.
[[nodiscard]] Job const* find(std::vector<Job> const& jobs, TrackedJob const& tracked);
/// Returns whether `state` tracks the listed job `job`.
[[nodiscard]] TrackedJob const* find(SiteState const& state, Job const& job);
[[nodiscard]] bool is_tracked(SiteState const& state, Job const& job);
/// Adds a job to `update.state`, and a `submitted` event to `update.events`.
void track(Update& update, JobId const& id, WindowId const& window, IntentId const& intent);

/// Sets the number of failures and setbacks to 0. The next job need not wait.
void forget_failures(SiteState& state);
/// Records `failure` in the state and counts it. Forbids submissions before `now` + the backoff.
/// Returns the backoff. `now` is real time, here and below.
Millis count_failure(SiteState& state, std::string failure, Time now, JobLimits const& limits);
/// Records a setback, which is not a failure: counts it and forbids submissions before `now` + its
/// backoff. Returns the backoff. `setback` describes it.
Millis count_setback(SiteState& state, std::string setback, Time now, JobLimits const& limits);

}  // namespace curtail::plan
