// SPDX-License-Identifier: Apache-2.0
#include "poller/plan/job_limits.hpp"

#include <algorithm>

#include "base/core/time.hpp"

namespace curtail::plan {

Millis backoff(int failures, JobLimits const& limits)
{
    auto pause = limits.first_backoff;
    for (int i = 1; i < failures && pause < limits.longest_backoff; ++i) pause *= 2;
    return std::min(pause, limits.longest_backoff);
}

std::string next_try_text(Millis pause, int failures)
{
    auto text = "next try in " + format_duration(pause);
    if (failures > 0) text += " (consecutive failures: " + std::to_string(failures) + ")";
    return text;
}

}  // namespace curtail::plan
