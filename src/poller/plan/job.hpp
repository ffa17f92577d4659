// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "base/core/ids.hpp"
#include "base/core/time.hpp"

namespace curtail::plan {

using JobId = Name<struct JobTag>;        ///< the id that the launcher gave the job, such as `1234`
using IntentId = Name<struct IntentTag>;  ///< identifies one decision to submit a job; part of the
                                          ///< job's comment

/// What identifies a job. Ids may begin again, and the same name may return with them.
struct Submission {
    JobId id;
    IntentId intent{};
    std::optional<Time> submitted{};  ///< by the launcher's clock; empty if unknown
};

/// One job of one site of one run, as its launcher lists it.
struct Job {
    enum class State {
        pending,
        running,  ///< or in an unknown state
        ending,   ///< between `running` and `ended`; may still occupy its devices
        ended
    };
    /// How a job ended.
    enum class End {
        clean,      ///< it ended by itself, with exit code 0
        failed,     ///< it ended by itself or at a limit, with another exit code
        cancelled,  ///< the poller, a person or an administrator cancelled it
        displaced,  ///< its cluster ended it, e.g. because a node failed or another job preempted
                    ///< it
        unknown     ///< the launcher no longer lists it, and nothing else says how it ended
    };
    JobId id;
    WindowId window;  ///< read from the job's comment; empty if the comment is unreadable
    /// Read from the job's comment; empty if the comment is unreadable. If the poller does not
    /// track such a job, it only warns about the job.
    IntentId intent;
    State state{State::pending};
    std::string launcher_state;  ///< the launcher's name for the state, such as `NODE_FAIL`
    /// The exit code of an ended job, or 128 + n if signal n ended it. Empty if it is unknown or
    /// the job has not ended.
    std::optional<int> exit_code;
    std::optional<Time> started;  ///< real time; empty if unknown or not yet started
    std::optional<Time> ended;    ///< real time; empty if unknown or not yet ended
    End end{End::failed};         ///< meaningful only if the job has ended
    /// For an ended job: its trainer recorded that it stopped on request, for example because its
    /// permission had ended; or the run is complete. Such a job may end soon after its start.
    bool stopped_on_request{false};
    /// For an ended job: the poller's journal says that a poller asked it to stop.
    bool stopped_by_poller{false};
    std::string cancelled_by{};  ///< for a cancelled job: the user, if the launcher knows
    /// For an ending job: its script has ended, but processes that the script started remain and
    /// will not end by themselves.
    bool leftovers{false};
    /// For an ending job: its cluster is cleaning up after it, and decides itself where the next
    /// job may start.
    bool cleaning_up{false};
    std::string reason{};   ///< for a pending job: the launcher's reason why it waits, such as
                            ///< `Resources`
    std::string cause{};    ///< for a failed job: the last error in its log, and the log's path
    std::string warning{};  ///< a sentence for the user; empty if there is none
    /// When the job was submitted, by the launcher's clock, in real time. With its id, it
    /// identifies the job: ids may begin again. Empty if unknown.
    std::optional<Time> submitted{};
    friend bool operator==(Job const&, Job const&) = default;
};

}  // namespace curtail::plan
