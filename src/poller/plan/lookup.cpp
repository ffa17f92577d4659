// SPDX-License-Identifier: Apache-2.0
#include "poller/plan/lookup.hpp"

#include <algorithm>

#include "base/core/text.hpp"

namespace curtail::plan {
namespace {

using runlog::JobChange;

bool is_same(TrackedJob const& tracked, Job const& job)
{
    // Slurm prints whole seconds.
    constexpr Millis same_moment{2'000};
    bool const is_other = tracked.submitted && job.submitted &&
                          std::chrono::abs(*tracked.submitted - *job.submitted) >= same_moment;
    return job.id == tracked.id && !is_other &&
           (job.intent == tracked.intent || job.intent.value.empty());
}

// Forbids submissions before `now` + `pause`, because of `failure`. Returns `pause`.
Millis pause_after(SiteState& state, std::string failure, Millis pause, Time now)
{
    state.retry_at = now + pause;
    state.failure = std::move(failure);
    return pause;
}

}  // namespace

IntentId intent_at(Time now) { return {"i" + std::to_string(to_unix_ms(now))}; }

std::optional<Time> time_of(IntentId const& intent)
{
    if (!intent.value.starts_with('i')) return std::nullopt;
    auto const ms = parse_number<std::int64_t>(std::string_view(intent.value).substr(1));
    return ms ? std::optional(from_unix_ms(*ms)) : std::nullopt;
}

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

TrackedJob const* find(SiteState const& state, Job const& job)
{
    auto const it = std::ranges::find_if(
        state.jobs, [&](TrackedJob const& tracked) { return is_same(tracked, job); });
    return it == state.jobs.end() ? nullptr : &*it;
}

bool is_tracked(SiteState const& state, Job const& job) { return find(state, job) != nullptr; }

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
