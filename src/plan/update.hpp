// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "plan/state.hpp"

namespace curtail::plan {

/// The types of events about jobs.
enum class JobEventType { submitted, started, drained, cancelled, ended, failed };

/// Something that became known about a job. Each type occurs at most once per job.
struct JobEvent {
    JobEventType type{JobEventType::submitted};
    JobId job;  ///< empty if the submission was refused
    WindowId window;
    /// For `ended` and `failed`: the launcher's name for the job's state, or why a submission was
    /// refused. For `drained` and `cancelled`: why the job should stop.
    std::string detail;
    std::optional<int> exit_code;       ///< for `ended` and `failed`, if known
    std::optional<Millis> retry_after;  ///< for `failed`: the pause before the next job
    /// For `started`: when the job started. For `ended` and `failed`: when the job ended. In real
    /// time; empty if the launcher does not state the time.
    std::optional<Time> time;
};

/// Why the poller should submit no further job until a person or the signal allows it.
struct HoldRequest {
    enum class Cause {
        failures,  ///< too many consecutive failures of jobs, or one that would repeat itself
        cancel     ///< a person or an administrator cancelled a job
    };
    Cause cause{Cause::failures};
    std::string why;              ///< one sentence for the user
    std::optional<Time> ended{};  ///< when the job ended, in real time, if that is known
    friend bool operator==(HoldRequest const&, HoldRequest const&) = default;
};

/// A new state, and the events that report what has changed.
struct Update {
    SiteState state;
    std::vector<JobEvent> events;
    std::optional<HoldRequest> hold;  ///< set if the update gives a reason to hold the site
};

}  // namespace curtail::plan
