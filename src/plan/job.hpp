// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "core/ids.hpp"
#include "core/time.hpp"

namespace curtail::plan {

using JobId = Name<struct JobKind>;  ///< as the launcher calls it: `1234`
using IntentId =
    Name<struct IntentKind>;  ///< one decision to submit a job; travels in the job's comment

/// One job of one run and site, as its launcher shows it.
struct Job {
    enum class State {
        pending,
        running,
        ending,  ///< its processes are being ended; still holds its place
        ended
    };
    enum class End {
        clean,     ///< by itself, with exit code 0
        failed,    ///< in any other way
        displaced  ///< by its cluster, for reasons of its own: a node failed, another job needed
                   ///< the place
    };
    JobId id;
    WindowId window;  ///< from its comment
    IntentId intent;  ///< from its comment; empty if that cannot be read: such a job is shown, and
                      ///< otherwise left alone
    State state{State::pending};
    std::string word;              ///< the launcher's own: `COMPLETED`, `NODE_FAIL`
    std::optional<int> exit_code;  ///< of an ended one, where known; 128 + n if ended by signal n
    std::optional<Time> started;
    std::optional<Time> ended;
    End end{End::failed};   ///< of an ended one
    bool leftovers{false};  ///< of an ending one: its script is gone, processes that it left are
                            ///< not and will not go by themselves
    std::string
        reason{};  ///< of a pending one: what it waits for, in the launcher's own word: `Resources`
    std::string warning{};  ///< what a person should know of it, a sentence; empty: nothing
    friend bool operator==(Job const&, Job const&) = default;
};

}  // namespace curtail::plan
