// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/core/json.hpp"
#include "base/process/kernel.hpp"

namespace curtail::process {

/// Identifies one process of this machine, even if the kernel later reuses its process id.
struct ProcessIdentity {
    pid_t pid{};
    std::uint64_t started{};  ///< start time in clock ticks after boot: field 22 of /proc/PID/stat
    std::string boot;         ///< identifies the boot: content of /proc/sys/kernel/random/boot_id
    friend bool operator==(ProcessIdentity const&, ProcessIdentity const&) = default;
};

/// Fields of /proc/PID/stat, the kernel's description of a process.
struct ProcessStat {
    char state{};  ///< `R`, `S`, `D`, `Z` and so on, as in proc(5)
    pid_t session{};
    std::uint64_t started{};  ///< see ProcessIdentity::started
};
/// Reads /proc/PID/stat. Returns an empty optional if there is no process `pid`. Async-signal-safe.
[[nodiscard]] std::optional<ProcessStat> read_process_stat(pid_t pid);
/// Returns an id that changes with each boot of this machine.
[[nodiscard]] std::string boot_id();
[[nodiscard]] std::string host_name();
/// Returns the name of this process's namespace of process ids: a container has ids of its own.
/// Empty without /proc.
[[nodiscard]] std::string process_namespace();
/// Returns the identity of this process.
[[nodiscard]] ProcessIdentity this_process();

/// Returns whether the process that `identity` describes exists and is not a zombie. Where /proc
/// hides the processes of other users, a process of another user with this id counts as the one.
[[nodiscard]] bool is_running(ProcessIdentity const& identity);
/// Sends a signal to the process that `identity` describes, if it started with `variable`
/// (`NAME=value`) in its environment. Somebody else may have written the identity. Returns false if
/// there is no such process.
bool signal_process(ProcessIdentity const& identity, std::string const& variable, int signal,
                    Kernel const& kernel = {});
/// Maps the id of each session of this machine to the ids of the session's processes.
using Sessions = std::multimap<pid_t, pid_t>;
/// Lists the sessions of all processes of this machine.
[[nodiscard]] Sessions list_sessions();
/// Sends a signal to every process of the session that `leader` created. Returns the number of
/// processes that got the signal. With signal 0, only counts the processes.
///
/// Also works after `leader` has ended. By then the kernel may have reused the session's id, or
/// somebody else may have written the identity of another process. So unless `leader` runs and
/// started with `variable` (`NAME=value`) in its environment, the function skips processes that
/// started without it.
int signal_session(Sessions const& sessions, ProcessIdentity const& leader,
                   std::string const& variable, int signal, Kernel const& kernel = {});

}  // namespace curtail::process
