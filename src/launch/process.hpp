// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"

namespace curtail::launch {

/// One process of this machine that cannot be mistaken for a later one with the same number.
struct ProcessIdentity {
    pid_t pid{};
    std::uint64_t started{};  ///< clock ticks after boot, field 22 of /proc/PID/stat
    std::string boot;         ///< /proc/sys/kernel/random/boot_id
    friend bool operator==(ProcessIdentity const&, ProcessIdentity const&) = default;
};

/// What /proc says of a process. Async-signal-safe: may be called between fork and exec.
struct ProcessStat {
    char state{};  ///< R S D Z ...
    pid_t session{};
    std::uint64_t started{};
};
[[nodiscard]] std::optional<ProcessStat> read_process_stat(pid_t pid);
[[nodiscard]] std::string boot_id();
[[nodiscard]] std::string host_name();

/// Runs still, and is that very process. A corpse that nobody has waited for does not run.
[[nodiscard]] bool is_running(ProcessIdentity const& identity);
/// Sends a signal to that very process; false if it is gone.
bool signal_process(ProcessIdentity const& identity, int signal);
/// All processes of this machine at one moment: session -> process.
using Sessions = std::multimap<pid_t, pid_t>;
[[nodiscard]] Sessions list_sessions();
/// Sends a signal to every process of the session that `leader` began, also after the leader's end;
/// answers how many there were. Signal 0 only counts them. After the leader's end only processes
/// count that were started with `variable` (`NAME=value`) in their environment: the kernel may have
/// given the session's number to strangers.
int signal_session(Sessions const& sessions, ProcessIdentity const& leader,
                   std::string const& variable, int signal);

}  // namespace curtail::launch
