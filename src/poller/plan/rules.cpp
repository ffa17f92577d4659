// SPDX-License-Identifier: Apache-2.0
#include "poller/plan/rules.hpp"

#include <algorithm>

#include "base/core/time.hpp"

namespace curtail::plan {

Millis backoff(int failures, JobLimits const& rules)
{
    auto pause = rules.first_backoff;
    for (int i = 1; i < failures && pause < rules.longest_backoff; ++i) pause *= 2;
    return std::min(pause, rules.longest_backoff);
}

std::string next_try_text(Millis pause, int failures)
{
    auto text = "next try in " + format_duration(pause);
    if (failures > 0) text += " (consecutive failures: " + std::to_string(failures) + ")";
    return text;
}

}  // namespace curtail::plan
