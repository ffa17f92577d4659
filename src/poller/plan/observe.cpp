// SPDX-License-Identifier: Apache-2.0
#include "poller/plan/observe.hpp"

#include <algorithm>
#include <utility>

#include "poller/plan/lookup.hpp"

namespace curtail::plan {
namespace {

using runlog::JobChange;

// The exit code of a job that may not train now: its site is locked, or it has no permission.
constexpr int try_later = static_cast<int>(ExitCode::temporary);
// The exit code of a job whose training has diverged, or whose input is damaged. The next job would
// end in the same way.
constexpr int bad_data = static_cast<int>(ExitCode::data);

void resolve_intent(Update& update, std::vector<Job> const& jobs, Time now, JobLimits const& limits)
{
    auto& state = update.state;
    if (!state.intent) return;
    auto const arrived = std::ranges::find(jobs, state.intent->id, &Job::intent);
    if (arrived != jobs.end()) {
        if (!is_tracked(state, *arrived))
            track(update, arrived->id, state.intent->window, state.intent->id);
        state.retry_at.reset();
        state.intent.reset();
    } else if (state.intent->uncertain && now - state.intent->since >= limits.settle_time) {
        state.intent.reset();
    }
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
    // The launcher's clock counts: that of the poller may be wrong.
    tracked.running_since = listed->started.value_or(now);
    update.events.push_back({.type = JobChange::Type::started,
                             .window = tracked.window.value,
                             .job = tracked.id.value,
                             .at = listed->started});
}

// Submission, first start and end of a job have events of their own.
void note_state(Update& update, TrackedJob& tracked, Job const& listed)
{
    auto const before = std::exchange(tracked.launcher_state, listed.launcher_state);
    auto const& state = listed.launcher_state;
    bool const is_first = !tracked.running_since && (before.empty() || before == "PENDING") &&
                          (state == "PENDING" || state == "RUNNING");
    bool const has_changed = before != state && listed.state != Job::State::ended;
    if (!has_changed || is_first) return;
    // A job that was requeued starts again.
    auto const started = state == "RUNNING" ? listed.started : std::optional<Time>();
    update.states.push_back({tracked.id.value, state, started});
}

// Returns whether the end of a job without a stop request is no failure. A job that ended at once
// with exit code 0 delays its successor, because that one could do the same.
bool is_setback(Job const& job)
{
    return job.end == Job::End::clean || job.end == Job::End::displaced ||
           job.end == Job::End::unknown || job.exit_code == try_later;
}

std::string end_text(TrackedJob const& tracked, Job const& job, bool too_soon)
{
    if (job.end == Job::End::unknown)
        return "job " + tracked.id.value + " is gone; its exit status is unknown (" +
               job.launcher_state + ")";
    char const* const how = too_soon ? " ended at once" : is_setback(job) ? " ended" : " failed";
    auto text = "job " + tracked.id.value + how + " (" + job.launcher_state;
    if (job.exit_code) text += ", exit code " + std::to_string(*job.exit_code);
    text += ")";
    return job.cause.empty() ? text : text + ": " + job.cause;
}

// Returns how long the next job waits after one that ended without a stop request.
Millis judge_failure(Update& update, TrackedJob const& tracked, Job const& job, bool too_soon,
                     Time now, JobLimits const& limits)
{
    auto& state = update.state;
    auto text = end_text(tracked, job, too_soon);
    if (is_setback(job)) return count_setback(state, std::move(text), now, limits);
    auto const pause = count_failure(state, text, now, limits);
    if (job.exit_code == bad_data)
        update.hold = {HoldRequest::Cause::failures, text + "; another job would fail too",
                       job.ended};
    else if (state.failures >= limits.failures_before_hold)
        update.hold = {HoldRequest::Cause::failures,
                       std::to_string(state.failures) + " jobs failed in a row; the last: " + text,
                       job.ended};
    return pause;
}

void note_end(Update& update, TrackedJob const& tracked, Job const& job, Time now,
              JobLimits const& limits)
{
    JobChange event{.type = JobChange::Type::ended,
                    .window = tracked.window.value,
                    .job = tracked.id.value,
                    .state = job.launcher_state,
                    .at = job.ended,
                    .exit_code = job.exit_code,
                    .by = job.cancelled_by};
    update.events.push_back(event);
    auto const run_time =
        tracked.running_since ? job.ended.value_or(now) - *tracked.running_since : Millis(0);
    bool const too_soon = run_time < limits.min_run_time;
    if (!too_soon) update.state.setbacks = 0;
    bool const ended_well = job.end == Job::End::clean && (!too_soon || job.stopped_on_request);
    if (ended_well || tracked.drained_since) forget_failures(update.state);
    if (ended_well || tracked.asked_since || job.stopped_by_poller)
        return;  // after a stop request any end is expected
    // A person's cancel is not a failure, and nobody undoes it.
    if (job.end == Job::End::cancelled) {
        update.hold = {
            HoldRequest::Cause::cancel,
            "job " + tracked.id.value + " was cancelled by " +
                (job.cancelled_by.empty() ? "a person or an administrator" : job.cancelled_by),
            job.ended};
        return;
    }
    event.type = JobChange::Type::failed;
    event.retry_after = judge_failure(update, tracked, job, too_soon, now, limits);
    update.events.push_back(std::move(event));
}

}  // namespace

Update observe(SiteState before, std::vector<Job> const& jobs, Time now, JobLimits const& limits)
{
    Job vanished;
    vanished.launcher_state = "GONE";
    vanished.end = Job::End::unknown;
    Update update{.state = std::move(before)};
    resolve_intent(update, jobs, now, limits);
    adopt_unknown_jobs(update, jobs);
    std::vector<TrackedJob> remaining;
    auto const tracked_jobs = std::move(update.state.jobs);
    for (auto tracked : tracked_jobs) {
        auto const* listed = find(jobs, tracked);
        if (listed != nullptr && !tracked.submitted) tracked.submitted = listed->submitted;
        if (listed != nullptr) note_state(update, tracked, *listed);
        note_start(update, tracked, listed, now);
        if (listed == nullptr) listed = &vanished;
        if (listed == &vanished || listed->state == Job::State::ended) {
            note_end(update, tracked, *listed, now, limits);
            continue;
        }
        if (listed->state != Job::State::ending) tracked.ending_since.reset();
        else if (!tracked.ending_since) tracked.ending_since = now;
        remaining.push_back(std::move(tracked));
    }
    update.state.jobs = std::move(remaining);
    return update;
}

bool note_missing(TrackedJob& job, Time now, JobLimits const& limits)
{
    // No state of a launcher. With it, `ending_since` is when the job was first missing.
    constexpr auto missing = "MISSING";
    bool const is_new = job.launcher_state != missing || !job.ending_since;
    // The clock may have been set back.
    if (is_new || now < *job.ending_since) job.ending_since = now;
    job.launcher_state = missing;
    return now - *job.ending_since >= limits.missing_time;
}

}  // namespace curtail::plan
