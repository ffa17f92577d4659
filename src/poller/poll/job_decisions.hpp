// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "poller/plan/plan.hpp"
#include "poller/poll/site_record.hpp"
#include "poller/poll/status.hpp"
#include "run/runlog/event.hpp"
#include "run/runlog/trainer_status.hpp"

// The part of a poll that concerns jobs. The functions below call those of poller/plan/plan.hpp.
// They turn the results into events, log lines and a status. They read no clock and do no I/O.
// `listed` always means the jobs that the launcher listed in this poll.
namespace curtail::poll {

/// The reason for which all jobs should stop even if their windows are open.
enum class StopReason {
    none,
    trace_over,   ///< the recorded trace has ended
    user_request  ///< the user asked the poller to stop and to drain its jobs
};

/// Returns whether a site should have a job, and why. `held` is the result of hold_reason().
/// `is_complete` is true if the run needs no more jobs.
[[nodiscard]] plan::DesiredState desired_state(WindowRecord const& window, StopReason stop_reason,
                                               std::string const& held, bool is_complete);

/// The result of observe_jobs().
struct JobObservation {
    plan::SiteState state;                  ///< what the poller now knows about the site's jobs
    std::vector<runlog::Event> events;      ///< events about the jobs, to be logged
    std::vector<std::string> warnings;      ///< log lines about failed jobs
    std::optional<plan::HoldRequest> hold;  ///< see plan::Update::hold
};
/// Uses `listed` to update what the poller knows about a site's jobs. `before` is the poller's
/// knowledge so far. `now` is real time. `lapsed` is when the last permission ended that was not
/// renewed in time; a job that began before cannot have outlived it by more than the grace period.
[[nodiscard]] JobObservation observe_jobs(SiteId const& site, plan::SiteState const& before,
                                          std::vector<plan::Job> const& listed, Time now,
                                          plan::JobLimits const& limits,
                                          std::optional<Time> const& lapsed = {});

/// What a site's trainer wrote about its own start and end.
struct TrainerRecord {
    std::optional<Time> started;
    std::optional<Time> ended;
    int exit_code{0};
    std::string cause;  ///< runlog::TrainerExit::cause
    std::optional<Time> last_event{};
};
/// Returns whether a trainer may have written something at `time` in this submission of the job:
/// an earlier job may have had the same id.
[[nodiscard]] bool is_after_submission(plan::Submission const& job, Time time);
/// Returns the trainer's record of this submission of the job. `events` are the events of the
/// site's trainers.
[[nodiscard]] TrainerRecord find_trainer(std::vector<runlog::Event> const& events,
                                         plan::Submission const& job);
/// Returns how a job ended that the launcher has forgotten, from its trainer's own record. Returns
/// an empty optional if the trainer did not record its end.
///
/// A trainer that SIGTERM stopped counts as cancelled: the poller drains with another signal.
[[nodiscard]] std::optional<plan::Job> end_of_trainer(plan::TrackedJob const& tracked,
                                                      TrainerRecord const& record);

/// Returns the log line for a job that counts as gone although the launcher failed with `error`
/// when it was asked how the job ended.
[[nodiscard]] std::string gone_text(plan::TrackedJob const& tracked, Error const& error, Time now);

/// Returns whether the trainer that wrote `status` at most 10 s ago runs in a job of somebody else:
/// its job is neither in `known` nor in `listed`. `known` is what the poller knew before this poll.
/// `now` is real time.
[[nodiscard]] bool is_other_trainer(runlog::TrainerStatus const& status,
                                    plan::SiteState const& known,
                                    std::vector<plan::Job> const& listed, Time now);

/// Decides the next actions, and returns them in the status of the site's jobs. `site` is the
/// record after observe_jobs(). `now` is real time.
[[nodiscard]] JobStatus decide_actions(SiteRecord const& site, plan::DesiredState const& desired,
                                       std::vector<plan::Job> const& listed, Time now,
                                       plan::JobLimits const& limits);
/// Returns the status of a site's jobs after the launcher failed to list them. `list_error` is the
/// launcher's error.
[[nodiscard]] JobStatus undecided_status(WindowRecord const& window,
                                         plan::DesiredState const& desired, Error list_error);

/// Returns the outcome of an action that the launcher answered with `result`. `submitted` is the
/// new job's id; empty if there is none.
[[nodiscard]] plan::Outcome outcome_of(Result<void> const& result, plan::JobId const& submitted);
/// Returns the log line that reports an action and its outcome.
[[nodiscard]] std::string action_text(SiteId const& site, plan::Action const& action,
                                      plan::Outcome const& outcome);

}  // namespace curtail::poll
