// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "core/ids.hpp"
#include "core/time.hpp"

namespace curtail::plan {

using JobId = Name<struct JobTag>;        ///< the launcher's job number or name: `1234`
using IntentId = Name<struct IntentTag>;  ///< one decision to submit a job; part of its comment

/// One job of one run and site, as its launcher lists it.
struct Job {
    enum class State {
        pending,
        running,
        ending,  ///< its processes are being terminated; it still occupies its slot
        ended
    };
    enum class End {
        clean,     ///< by itself, with exit code 0
        failed,    ///< in any other way
        displaced  ///< by its cluster: a node failed, or another job preempted it
    };
    JobId id;
    WindowId window;  ///< from its comment
    IntentId intent;  ///< from its comment. Empty if the comment is unreadable: the poller shows
                      ///< such a job and otherwise ignores it
    State state{State::pending};
    std::string launcher_state;    ///< the launcher's own name: `COMPLETED`, `NODE_FAIL`
    std::optional<int> exit_code;  ///< of an ended job, if known; 128 + n if signal n ended it
    std::optional<Time> started;
    std::optional<Time> ended;
    End end{End::failed};   ///< of an ended job
    bool leftovers{false};  ///< of an ending job: its script has ended, but processes that the
                            ///< script started remain and will not end by themselves
    std::string reason{};   ///< of a pending job: the launcher's reason for the wait: `Resources`
    std::string warning{};  ///< a sentence for the user, or empty
    friend bool operator==(Job const&, Job const&) = default;
};

}  // namespace curtail::plan
