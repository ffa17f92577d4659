// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "plan/rules.hpp"
#include "plan/update.hpp"

namespace curtail::plan {

/// Returns the tracked job whose id is `id`, or null if there is none. The pointer is into `state`.
[[nodiscard]] TrackedJob* find(SiteState& state, JobId const& id);
/// Returns the entry of `jobs` for the job `tracked`, or null if there is none. The pointer is into
/// `jobs`. The ids and the intents must be equal. A listed job without an intent, whose comment is
/// unreadable, needs only the same id.
[[nodiscard]] Job const* find(std::vector<Job> const& jobs, TrackedJob const& tracked);
/// Returns whether `state` tracks the listed job `job`.
[[nodiscard]] bool is_tracked(SiteState const& state, Job const& job);
/// Adds a job to the state in `update`, and a `submitted` event to its events.
void track(Update& update, JobId const& id, WindowId const& window, IntentId const& intent);

/// Records `failure` without counting it: no job is submitted before `now` + `pause`. Returns
/// `pause`.
Millis pause_after(SiteState& state, std::string failure, Millis pause, Time now);
/// Records and counts `failure`: no job is submitted before `now` + the backoff. Returns the
/// backoff.
Millis count_failure(SiteState& state, std::string failure, Time now, Rules const& rules);

}  // namespace curtail::plan
