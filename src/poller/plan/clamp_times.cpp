// SPDX-License-Identifier: Apache-2.0
#include "poller/plan/clamp_times.hpp"

#include <algorithm>

namespace curtail::plan {

SiteState clamp_times(SiteState state, Time now, JobLimits const& limits)
{
    auto const limit = [](std::optional<Time>& time, Time latest) {
        if (time) *time = std::min(*time, latest);
    };
    limit(state.retry_at, now + limits.longest_backoff);
    if (state.intent) state.intent->since = std::min(state.intent->since, now);
    for (auto& job : state.jobs)
        for (auto* time : {&job.asked_since, &job.drained_since, &job.last_drain, &job.last_cancel,
                           &job.ending_since})
            limit(*time, now);
    return state;
}

}  // namespace curtail::plan
