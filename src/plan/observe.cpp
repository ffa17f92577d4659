// SPDX-License-Identifier: Apache-2.0
#include "plan/observe.hpp"

#include <algorithm>

#include "plan/lookup.hpp"

namespace curtail::plan {
namespace {

void clear_failures(SiteState& state)
{
    state.failures = 0;
    state.retry_at.reset();
    state.failure.clear();
}

Job const* find_intent(std::vector<Job> const& jobs, IntentId const& intent)
{
    auto const it = std::find_if(jobs.begin(), jobs.end(),
                                 [&](Job const& job) { return job.intent == intent; });
    return it == jobs.end() ? nullptr : &*it;
}

// The submission arrived: its job is listed.
void confirm_intent(Update& update, Job const& job)
{
    auto& state = update.state;
    if (!is_tracked(state, job)) track(update, job.id, state.intent->window, state.intent->id);
    state.retry_at.reset();
    state.intent.reset();
}

void resolve_intent(Update& update, std::vector<Job> const& jobs, Time now, Rules const& rules)
{
    auto& state = update.state;
    if (!state.intent) return;
    if (auto const* job = find_intent(jobs, state.intent->id)) {
        confirm_intent(update, *job);
        return;
    }
    if (!state.intent->uncertain || now - state.intent->since < rules.settle_time) return;
    // A lost answer set a pause when it was lost. A poller that died set none: no failure.
    if (state.retry_at) ++state.failures;
    state.intent.reset();
}

// Jobs of this run, site and folder that the state does not know: the state file was lost, or an
// answer came very late.
void adopt_unknown_jobs(Update& update, std::vector<Job> const& jobs)
{
    for (auto const& job : jobs)
        if (job.state != Job::State::ended && !job.intent.value.empty() &&
            !is_tracked(update.state, job))
            track(update, job.id, job.window, job.intent);
}

bool has_started(Job const& job)
{
    // An ended job without a start time was cancelled in the queue.
    return job.state != Job::State::pending && (job.state != Job::State::ended || job.started);
}

void note_start(Update& update, TrackedJob& tracked, Job const* listed, Time now)
{
    if (tracked.running_since || listed == nullptr || !has_started(*listed)) return;
    tracked.running_since = std::min(listed->started.value_or(now), now);
    update.events.push_back(
        {JobEventType::started, tracked.id, tracked.window, {}, {}, {}, listed->started});
}

// Sets how long the next job waits after one that ended without a stop request. A job that ended
// too soon has failed even with exit code 0: its successor would do the same. A displaced job is
// not to blame and does not count.
Millis judge_failure(SiteState& state, TrackedJob const& tracked, Job const& job, Millis run_time,
                     Time now, Rules const& rules)
{
    bool const too_soon = run_time < rules.min_run_time;
    auto text = "job " + tracked.id.value + (too_soon ? " ended at once (" : " failed (") +
                job.launcher_state;
    if (job.exit_code) text += ", exit code " + std::to_string(*job.exit_code);
    text += ")";
    if (job.end == Job::End::displaced)
        return pause_after(state, std::move(text), rules.first_backoff, now);
    return count_failure(state, std::move(text), now, rules);
}

void note_end(Update& update, TrackedJob const& tracked, Job const& job, Time now,
              Rules const& rules)
{
    JobEvent event{JobEventType::ended, tracked.id, tracked.window, job.launcher_state,
                   job.exit_code,       {},         job.ended};
    update.events.push_back(event);
    auto const run_time =
        tracked.running_since ? job.ended.value_or(now) - *tracked.running_since : Millis(0);
    bool const ended_well = job.end == Job::End::clean && run_time >= rules.min_run_time;
    if (ended_well || run_time >= rules.proven_run_time) clear_failures(update.state);
    if (ended_well || tracked.asked_since) return;  // after a stop request any end is expected
    event.type = JobEventType::failed;
    event.retry_after = judge_failure(update.state, tracked, job, run_time, now, rules);
    update.events.push_back(std::move(event));
}

Job vanished_job()
{
    Job job;
    job.launcher_state = "GONE";
    return job;
}

}  // namespace

Update observe(SiteState before, std::vector<Job> const& jobs, Time now, Rules const& rules)
{
    Update update{std::move(before), {}};
    resolve_intent(update, jobs, now, rules);
    adopt_unknown_jobs(update, jobs);
    std::vector<TrackedJob> remaining;
    auto const tracked_jobs = std::move(update.state.jobs);
    for (auto tracked : tracked_jobs) {
        auto const* listed = find(jobs, tracked);
        note_start(update, tracked, listed, now);
        if (listed == nullptr) note_end(update, tracked, vanished_job(), now, rules);
        else if (listed->state == Job::State::ended) note_end(update, tracked, *listed, now, rules);
        else remaining.push_back(std::move(tracked));
    }
    update.state.jobs = std::move(remaining);
    return update;
}

}  // namespace curtail::plan
