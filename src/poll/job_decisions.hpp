// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "poll/site_record.hpp"
#include "poll/status.hpp"
#include "runlog/event.hpp"

/// The job half of a poll, between the launcher and the plan. Pure: no clock, no I/O.
namespace curtail::poll {

/// Why all jobs should stop, whatever the windows say.
enum class StopReason {
    none,
    trace_over,   ///< the replay has reached its end
    user_request  ///< the user stopped the poller and wants its jobs drained
};

/// The desired state of a site. `is_complete`: the run needs no more jobs.
[[nodiscard]] plan::DesiredState desired_state(WindowRecord const& window, StopReason stop,
                                               bool is_complete);

struct JobObservation {
    plan::SiteState state;
    std::vector<runlog::Event> events;
    std::vector<std::string> warnings;  ///< log lines about failed jobs
};
/// Updates a site's jobs from the launcher's list; `now` is real time.
[[nodiscard]] JobObservation observe_jobs(SiteId const& site, plan::SiteState const& before,
                                          std::vector<plan::Job> const& listed, Time now,
                                          plan::Rules const& rules);

/// Decides the next actions and describes the site's jobs.
[[nodiscard]] JobStatus decide_actions(SiteRecord const& site, plan::DesiredState const& desired,
                                       std::vector<plan::Job> const& listed, Time now,
                                       plan::Rules const& rules);
/// The status of a site whose jobs could not be listed.
[[nodiscard]] JobStatus undecided_status(WindowRecord const& window,
                                         plan::DesiredState const& desired, Error list_error);

/// The outcome of an action that the launcher answered with `result`; `submitted` is the new job.
[[nodiscard]] plan::Outcome outcome_of(Result<void> const& result, plan::JobId const& submitted);
/// The log line of an action with its outcome.
[[nodiscard]] std::string action_text(SiteId const& site, plan::Action const& action,
                                      plan::Outcome const& outcome);

}  // namespace curtail::poll
