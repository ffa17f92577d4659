// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "poller/plan/state.hpp"
#include "run/runlog/poller_events.hpp"

namespace curtail::plan {

/// The reason for which the poller submits no further job until a person or the signal allows it.
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
    /// Each type occurs at most once per job.
    std::vector<runlog::JobChange> events{};
    /// Changes of state that no event above tells.
    std::vector<runlog::JobStateChange> states{};
    std::optional<HoldRequest> hold{};  ///< set if the update gives a reason to hold the site
};

}  // namespace curtail::plan
