// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "plan/state.hpp"

namespace curtail::plan {

enum class JobEventType { submitted, started, drained, cancelled, ended, failed };

/// A change that became known about a job. Each type occurs at most once per job.
struct JobEvent {
    JobEventType type{JobEventType::submitted};
    JobId job;  ///< empty for a refused submission
    WindowId window;
    std::string detail;                 ///< ended, failed: state; drained, cancelled: reason
    std::optional<int> exit_code;       ///< ended
    std::optional<Millis> retry_after;  ///< failed
    std::optional<Time> time;  ///< started, ended, failed: the launcher's own time, if known
};

/// A new state and the events that led to it.
struct Update {
    SiteState state;
    std::vector<JobEvent> events;
};

}  // namespace curtail::plan
