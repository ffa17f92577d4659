// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "plan/job.hpp"

namespace curtail::plan {

enum class ActionType {
    submit,
    drain,           ///< ask the job to finish its step, contribute and exit
    cancel,          ///< terminate the job
    cancel_pending,  ///< remove the job from the queue, unless it has started meanwhile
    end_leftovers,   ///< terminate processes that an ended job left running; stored as `sweep`
    wait
};
/// The stored name, such as `cancel-pending`.
[[nodiscard]] char const* to_text(ActionType type);
[[nodiscard]] std::optional<ActionType> parse_action_type(std::string const& text);

struct Action {
    ActionType type{ActionType::wait};
    JobId job;        ///< empty for `submit`
    WindowId window;  ///< the job's window
    IntentId intent;  ///< `submit` only
    std::string why;
    friend bool operator==(Action const&, Action const&) = default;
};

/// The result of carrying out an action.
struct Outcome {
    enum class Status {
        done,
        refused,  ///< certainly without effect
        unknown   ///< no answer: it may have taken effect
    };
    Status status{Status::done};
    JobId job;        ///< of a successful submission
    std::string why;  ///< empty if done
};

}  // namespace curtail::plan
