// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "plan/rules.hpp"
#include "plan/update.hpp"

namespace curtail::plan {

/// The tracked job of this number; null if there is none.
[[nodiscard]] TrackedJob* find(SiteState& state, JobId const& id);
/// The listed job that is this tracked one. The same number with another intent is another job;
/// if the comment was removed, the number decides.
[[nodiscard]] Job const* find(std::vector<Job> const& jobs, TrackedJob const& tracked);
[[nodiscard]] bool is_tracked(SiteState const& state, Job const& job);
/// Adds a job to the state, with its `submitted` event.
void track(Update& update, JobId const& id, WindowId const& window, IntentId const& intent);

/// Notes a failure that does not count: the next job waits for `pause`, which is returned.
Millis pause_after(SiteState& state, std::string failure, Millis pause, Time now);
/// Counts a failure: the next job waits for the backoff, which is returned.
Millis count_failure(SiteState& state, std::string failure, Time now, Rules const& rules);

}  // namespace curtail::plan
