// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "poller/plan/job.hpp"

namespace curtail::plan {

/// What the poller can do to a site's jobs.
enum class ActionType {
    submit,
    drain,           ///< ask the job to finish its step, contribute and exit
    cancel,          ///< terminate the job
    cancel_pending,  ///< remove the job from the queue, unless it has started meanwhile
    end_leftovers,   ///< terminate the processes that a job's ended script left running; stored as
                     ///< `sweep`
    wait             ///< do nothing in this poll
};
/// Returns the name that the poller's journal (poller/poll/journal.hpp) stores, such as
/// `cancel-pending`.
[[nodiscard]] char const* to_text(ActionType type);
/// Returns the type with the stored name `text`, or an empty optional if there is none.
[[nodiscard]] std::optional<ActionType> parse_action_type(std::string const& text);

/// One thing to do to a site's jobs, and the reason.
struct Action {
    ActionType type{ActionType::wait};
    JobId job;        ///< empty for `submit`, and for a `wait` that concerns no job
    WindowId window;  ///< the window that the job is for; empty if there is none
    IntentId intent;  ///< only for `submit`: identifies the decision to submit
    std::string why;
    friend bool operator==(Action const&, Action const&) = default;
};

/// What became of an action.
struct Outcome {
    enum class Status {
        done,
        refused,  ///< the action certainly had no effect
        unknown   ///< no answer came: the action may have taken effect
    };
    Status status{Status::done};
    JobId job;        ///< the new job, after a successful `submit`
    std::string why;  ///< why `status` is `refused` or `unknown`; empty if it is `done`
};

}  // namespace curtail::plan
