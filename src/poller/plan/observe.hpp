// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "poller/plan/job_limits.hpp"
#include "poller/plan/update.hpp"

namespace curtail::plan {

/// Updates the state from the jobs that the launcher lists. Decides whether a submission with
/// unknown outcome took place, notices new and vanished jobs, and counts failures. `jobs` must be
/// all jobs of this run and site that the launcher still knows. The launcher must have been asked
/// at the real time `now` or later.
[[nodiscard]] Update observe(SiteState before, std::vector<Job> const& jobs, Time now,
                             JobLimits const& limits);

/// Notes in `job` that the launcher does not list it, and cannot say how it ended. Returns whether
/// that has been so for JobLimits::missing_time, so that the job counts as gone. `now` is real
/// time.
[[nodiscard]] bool note_missing(TrackedJob& job, Time now, JobLimits const& limits);

}  // namespace curtail::plan
