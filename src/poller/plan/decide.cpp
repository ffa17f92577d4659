// SPDX-License-Identifier: Apache-2.0
#include "poller/plan/decide.hpp"

#include "poller/plan/lookup.hpp"

namespace curtail::plan {
namespace {

// A tracked job that the launcher lists.
struct LiveJob {
    TrackedJob const* tracked;
    Job const* listed;
    [[nodiscard]] std::string name() const { return "job " + tracked->id.value; }
};

std::vector<LiveJob> live_jobs(SiteState const& state, std::vector<Job> const& jobs)
{
    std::vector<LiveJob> live;
    for (auto const& tracked : state.jobs)
        if (auto const* job = find(jobs, tracked)) live.push_back({&tracked, job});
    return live;
}

// Returns whether Slurm has been ending the job for too long. The next job need not wait for it:
// Slurm decides where that one starts.
bool is_stuck(LiveJob const& job, Time now, JobLimits const& limits)
{
    auto const& since = job.tracked->ending_since;
    return job.listed->cleaning_up && since && now - *since >= limits.completing_time;
}

bool is_due(std::optional<Time> const& last, Millis interval, Time now)
{
    return !last || now - *last >= interval;
}

// Returns why a running job may be cancelled now. Returns an empty text if it may not.
std::string overdue(TrackedJob const& job, Time now, JobLimits const& limits)
{
    if (job.drains < limits.drains_before_cancel || !job.asked_since) return {};
    if (job.drained_since)
        return now - *job.drained_since >= limits.grace
                   ? "it did not stop within " + format_duration(limits.grace)
                   : std::string();
    auto const longest = 3 * limits.grace;
    return now - *job.asked_since >= longest
               ? "no drain signal was delivered within " + format_duration(longest)
               : std::string();
}

Action stop_running(Action action, LiveJob const& job, bool may_cancel, Time now,
                    JobLimits const& limits)
{
    if (auto const late = overdue(*job.tracked, now, limits); !late.empty()) {
        action.why += "; " + late;
        if (may_cancel) action.type = ActionType::cancel;
        else action.why = job.name() + " was cancelled but is still listed";
    } else if (is_due(job.tracked->last_drain, limits.drain_interval, now)) {
        action.type = ActionType::drain;
    } else {
        auto const since = now - job.tracked->asked_since.value_or(now);
        action.why = job.name() + " received a stop request " + format_duration(since) + " ago";
    }
    return action;
}

// One step towards the end of a job; `wait` while the last step may still take effect.
Action stop(LiveJob const& job, std::string const& why, Time now, JobLimits const& limits)
{
    Action action{ActionType::wait, job.tracked->id, job.tracked->window, {}, why};
    bool const may_cancel = is_due(job.tracked->last_cancel, limits.cancel_interval, now);
    switch (job.listed->state) {
        case Job::State::ending:
            action.why = job.listed->leftovers ? job.name() + " ended but left processes running"
                                               : job.name() + " is ending";
            if (job.listed->leftovers && may_cancel) action.type = ActionType::end_leftovers;
            return action;
        case Job::State::pending:
            if (may_cancel) action.type = ActionType::cancel_pending;
            else action.why = job.name() + " was removed from the queue but is still listed";
            return action;
        case Job::State::running:
        case Job::State::ended:
            return stop_running(std::move(action), job, may_cancel, now, limits);
    }
    __builtin_unreachable();
}

// The job that stays: a running one before a pending one, then the older one.
LiveJob const* pick_job_to_keep(std::vector<LiveJob> const& live)
{
    LiveJob const* kept = nullptr;
    for (auto const& candidate : live) {
        if (candidate.tracked->asked_since || candidate.listed->state == Job::State::ending)
            continue;
        bool const runs = candidate.listed->state == Job::State::running;
        if (kept == nullptr || (runs && kept->listed->state != Job::State::running))
            kept = &candidate;
    }
    return kept;
}

std::string reason_to_stop(DesiredState const& desired, LiveJob const* kept)
{
    if (!desired.job) return desired.why;
    if (kept != nullptr) return kept->name() + " already exists";
    return "it received a stop request; the next job starts after its end";
}

Action keep(LiveJob const& job)
{
    auto const& reason = job.listed->reason;
    bool const runs = job.listed->state == Job::State::running;
    return {ActionType::wait,
            job.tracked->id,
            job.tracked->window,
            {},
            job.name() + (runs ? " is running" : " is pending") +
                (reason.empty() ? "" : " (" + reason + ")")};
}

Action start(SiteState const& state, DesiredState const& desired, Time now)
{
    Action action{ActionType::wait, {}, desired.window, {}, desired.why};
    if (!desired.job) return action;
    if (state.intent) {
        action.why = "the last submission (" + state.intent->id.value + ") is unconfirmed";
    } else if (state.retry_at && now < *state.retry_at) {
        action.why = state.failure + "; " + next_try_text(*state.retry_at - now, state.failures);
    } else {
        action.type = ActionType::submit;
        action.intent = intent_at(now);
    }
    return action;
}

}  // namespace

std::vector<Action> decide(SiteState const& state, DesiredState const& desired,
                           std::vector<Job> const& jobs, Time now, JobLimits const& limits)
{
    auto const live = live_jobs(state, jobs);
    auto const* kept = desired.job ? pick_job_to_keep(live) : nullptr;
    std::vector<Action> actions;
    bool only_stuck = true;
    for (auto const& job : live) {
        if (&job == kept) continue;
        actions.push_back(stop(job, reason_to_stop(desired, kept), now, limits));
        only_stuck = only_stuck && is_stuck(job, now, limits);
    }
    if (kept != nullptr) actions.push_back(keep(*kept));
    else if (only_stuck) actions.push_back(start(state, desired, now));
    return actions;
}

std::string warning_of(SiteState const& state, std::vector<Job> const& jobs, Time now,
                       JobLimits const& limits)
{
    std::string text;
    auto const add = [&](std::string const& sentence) {
        text += (text.empty() ? "" : "; ") + sentence;
    };
    for (auto const& job : jobs) {
        if (job.state == Job::State::ended) continue;
        if (!job.warning.empty()) add(job.warning);
        if (job.intent.value.empty() && !is_tracked(state, job))
            add("job " + job.id.value +
                " has the name of this site's jobs but not their comment; it is ignored");
    }
    for (auto const& job : live_jobs(state, jobs))
        if (is_stuck(job, now, limits))
            add(job.name() + " has been " + job.listed->launcher_state + " for more than " +
                format_duration(limits.completing_time) +
                "; the next job does not wait for it: ask the cluster's administrators");
    return text;
}

}  // namespace curtail::plan
