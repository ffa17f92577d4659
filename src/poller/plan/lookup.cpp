// SPDX-License-Identifier: Apache-2.0
#include "poller/plan/lookup.hpp"

#include <algorithm>

namespace curtail::plan {
namespace {

using runlog::JobChange;

bool is_same(TrackedJob const& tracked, Job const& job)
{
    return job.id == tracked.id && (job.intent == tracked.intent || job.intent.value.empty());
}

// Forbids submissions before `now` + `pause`, because of `failure`. Returns `pause`.
Millis pause_after(SiteState& state, std::string failure, Millis pause, Time now)
{
    state.retry_at = now + pause;
    state.failure = std::move(failure);
    return pause;
}

}  // namespace

TrackedJob* find(SiteState& state, JobId const& id)
{
    auto const it = std::ranges::find(state.jobs, id, &TrackedJob::id);
    return it == state.jobs.end() ? nullptr : &*it;
}

Job const* find(std::vector<Job> const& jobs, TrackedJob const& tracked)
{
    auto const it =
        std::ranges::find_if(jobs, [&](Job const& job) { return is_same(tracked, job); });
    return it == jobs.end() ? nullptr : &*it;
}

bool is_tracked(SiteState const& state, Job const& job)
{
    return std::ranges::any_of(state.jobs,
                               [&](TrackedJob const& tracked) { return is_same(tracked, job); });
}

void track(Update& update, JobId const& id, WindowId const& window, IntentId const& intent)
{
    TrackedJob job;
    job.id = id;
    job.window = window;
    job.intent = intent;
    update.state.jobs.push_back(std::move(job));
    update.events.push_back({JobChange::Type::submitted, window.value, id.value});
}

void forget_failures(SiteState& state)
{
    state.failures = 0;
    state.setbacks = 0;
    state.retry_at.reset();
    state.failure.clear();
}

Millis count_failure(SiteState& state, std::string failure, Time now, JobLimits const& limits)
{
    return pause_after(state, std::move(failure), backoff(++state.failures, limits), now);
}

Millis count_setback(SiteState& state, std::string setback, Time now, JobLimits const& limits)
{
    return pause_after(state, std::move(setback), backoff(++state.setbacks, limits), now);
}

}  // namespace curtail::plan
