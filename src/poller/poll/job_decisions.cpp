// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/job_decisions.hpp"

#include <algorithm>

#include "base/core/time.hpp"
#include "poller/plan/clamp_times.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::poll {
namespace {

// An active trainer writes its status about once per second, except during a transfer.
constexpr Seconds status_lifetime{10};

// `job 7 failed (FAILED, exit code 3): CAUSE; next try in 10.0 s (consecutive failures: 1)`
std::string failure_text(runlog::JobChange const& failed, plan::SiteState const& state)
{
    return state.failure + "; " +
           plan::next_try_text(failed.retry_after.value_or(Millis(0)), state.failures);
}

// The error of an open window without a job because the last jobs failed.
std::optional<Error> waits_after_failures(plan::SiteState const& state,
                                          plan::DesiredState const& desired, Time now)
{
    bool const has_no_job = desired.job && state.jobs.empty() && !state.intent;
    bool const waits = has_no_job && state.retry_at && now < *state.retry_at;
    if (!waits || state.failures + state.setbacks == 0) return std::nullopt;
    return Error{ExitCode::unavailable, state.failure,
                 plan::next_try_text(*state.retry_at - now, state.failures), ""};
}

// The latest time at which a job can have ended that is gone now.
Time latest_end(plan::SiteState const& before, std::string const& id, Time now,
                plan::JobLimits const& limits, std::optional<Time> const& lapsed)
{
    auto const job = std::ranges::find(before.jobs, id, [](auto const& j) { return j.id.value; });
    bool const outlasted =
        lapsed && job != before.jobs.end() && job->running_since && *job->running_since < *lapsed;
    return outlasted ? std::min(now, *lapsed + limits.grace) : now;
}

}  // namespace

plan::DesiredState desired_state(WindowRecord const& window, StopReason stop_reason,
                                 std::string const& held, bool is_complete)
{
    if (stop_reason == StopReason::trace_over) return {false, {}, "the trace has ended"};
    if (stop_reason == StopReason::user_request)
        return {false, {}, "the poller is stopping all jobs"};
    if (is_complete) return {false, {}, "the run is complete"};
    if (!held.empty()) return {false, {}, held};
    if (!window.open) return {false, {}, "the window is closed"};
    return {true, *window.open, "the window has been open since " + window.open->value};
}

JobObservation observe_jobs(SiteId const& site, plan::SiteState const& before,
                            std::vector<plan::Job> const& listed, Time now,
                            plan::JobLimits const& limits, std::optional<Time> const& lapsed)
{
    auto update = plan::observe(plan::clamp_times(before, now, limits), listed, now, limits);
    for (auto& event : update.events)
        if (event.type == runlog::JobChange::Type::ended && !event.at)
            event.latest = latest_end(before, event.job, now, limits, lapsed);
    JobObservation observation{std::move(update.state),
                               runlog::to_events(update.events, now, site.value),
                               {},
                               std::move(update.hold)};
    for (auto const& change : update.states)
        observation.events.push_back(runlog::to_event(change, now, site.value));
    for (auto const& event : update.events)
        if (event.type == runlog::JobChange::Type::failed)
            // A site that is held makes no next try.
            observation.warnings.push_back(site.value + ": " +
                                           (observation.hold
                                                ? observation.state.failure
                                                : failure_text(event, observation.state)));
    return observation;
}

bool is_after_submission(plan::Submission const& job, Time time)
{
    constexpr Seconds clock_tolerance{5};
    auto const submitted = job.submitted ? job.submitted : plan::time_of(job.intent);
    return !submitted || time >= *submitted - clock_tolerance;
}

TrainerRecord find_trainer(std::vector<runlog::Event> const& events, plan::Submission const& job)
{
    TrainerRecord record;
    bool runs = false;
    for (auto const& event : events) {
        if (!is_after_submission(job, event.time)) continue;
        if (auto const start = runlog::trainer_start_in(event)) {
            runs = start->job == job.id.value;
            if (runs) record = {event.time, {}, 0, {}, {}};
        }
        if (runs) record.last_event = event.time;
        auto const exit = runlog::trainer_exit_in(event);
        if (!exit || exit->job != job.id.value) continue;
        record.ended = event.time;
        record.exit_code = static_cast<int>(exit->code);
        record.cause = exit->cause;
        runs = false;
    }
    return record;
}

std::optional<plan::Job> end_of_trainer(plan::TrackedJob const& tracked,
                                        TrainerRecord const& record)
{
    using End = plan::Job::End;
    if (!record.ended) return std::nullopt;
    plan::Job job;
    job.id = tracked.id;
    job.window = tracked.window;
    job.intent = tracked.intent;
    job.state = plan::Job::State::ended;
    job.launcher_state = "GONE";
    job.exit_code = record.exit_code;
    job.started = record.started;
    job.ended = record.ended;
    // A trainer that TERM stops may run out of time, and then fails.
    job.end = record.cause == "terminate" ? End::cancelled
              : record.exit_code != 0     ? End::failed
                                          : End::clean;
    return job;
}

std::string gone_text(plan::TrackedJob const& tracked, Error const& error, Time now)
{
    auto const since = now - tracked.ending_since.value_or(now);
    return "job " + tracked.id.value + " has not been listed for " + format_duration(since) +
           " and counts as gone, whether a person cancelled it or not: " + error.message();
}

bool is_other_trainer(runlog::TrainerStatus const& status, plan::SiteState const& known,
                      std::vector<plan::Job> const& listed, Time now)
{
    auto const has_its_id = [&](auto const& job) { return job.id.value == status.job; };
    bool const is_own = std::any_of(known.jobs.begin(), known.jobs.end(), has_its_id) ||
                        std::any_of(listed.begin(), listed.end(), has_its_id);
    auto const age = now - status.time;
    return !is_own && age <= status_lifetime && age >= -status_lifetime;
}

JobStatus decide_actions(SiteRecord const& site, plan::DesiredState const& desired,
                         std::vector<plan::Job> const& listed, Time now,
                         plan::JobLimits const& limits)
{
    JobStatus status;
    status.window = site.window.open;
    status.actions = plan::decide(site.jobs, desired, listed, now, limits);
    status.action_error = waits_after_failures(site.jobs, desired, now);
    status.warning = plan::warning_of(site.jobs, listed, now, limits);
    for (auto const& job : listed)
        if (job.state != plan::Job::State::ended) status.jobs.push_back(job);
    return status;
}

JobStatus undecided_status(WindowRecord const& window, plan::DesiredState const& desired,
                           Error list_error)
{
    JobStatus status;
    status.window = window.open;
    status.list_error = std::move(list_error);
    status.actions = {{plan::ActionType::wait,
                       {},
                       desired.window,
                       {},
                       "no action on jobs until they can be listed; " + desired.why}};
    return status;
}

plan::Outcome outcome_of(Result<void> const& result, plan::JobId const& submitted)
{
    using Status = plan::Outcome::Status;
    if (result) return {Status::done, submitted, {}};
    bool const no_answer = result.error().code == ExitCode::temporary;
    return {no_answer ? Status::unknown : Status::refused, {}, result.error().message()};
}

std::string action_text(SiteId const& site, plan::Action const& action,
                        plan::Outcome const& outcome)
{
    auto const& job = action.type == plan::ActionType::submit ? outcome.job : action.job;
    auto text = site.value + ": " + plan::to_text(action.type) +
                (job.value.empty() ? "" : " job " + job.value) + ": " + action.why;
    if (outcome.status != plan::Outcome::Status::done) text += ": " + outcome.why;
    return text;
}

}  // namespace curtail::poll
