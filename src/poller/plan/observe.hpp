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

}  // namespace curtail::plan
