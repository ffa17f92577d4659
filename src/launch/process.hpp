// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "launch/kernel.hpp"

namespace curtail::launch {

/// Identifies one process of this machine, even after the kernel reuses its number.
struct ProcessIdentity {
    pid_t pid{};
    std::uint64_t started{};  ///< clock ticks after boot, field 22 of /proc/PID/stat
    std::string boot;         ///< /proc/sys/kernel/random/boot_id
    friend bool operator==(ProcessIdentity const&, ProcessIdentity const&) = default;
};

/// Fields of /proc/PID/stat.
struct ProcessStat {
    char state{};  ///< R S D Z ...
    pid_t session{};
    std::uint64_t started{};
};
/// Empty if there is no such process. Async-signal-safe.
[[nodiscard]] std::optional<ProcessStat> read_process_stat(pid_t pid);
[[nodiscard]] std::string boot_id();
[[nodiscard]] std::string host_name();

/// Whether this very process exists and is not a zombie.
[[nodiscard]] bool is_running(ProcessIdentity const& identity);
/// Sends a signal to this very process; false if it has ended.
bool signal_process(ProcessIdentity const& identity, int signal, Kernel const& kernel = {});
/// All processes of this machine: session -> process.
using Sessions = std::multimap<pid_t, pid_t>;
[[nodiscard]] Sessions list_sessions();
/// Sends a signal to every process of the session that `leader` created and returns their number.
/// Signal 0 only counts them.
///
/// Works after the leader's end too. It then reaches only processes that started with `variable`
/// (`NAME=value`) in their environment, because the kernel may have reused the session's number.
int signal_session(Sessions const& sessions, ProcessIdentity const& leader,
                   std::string const& variable, int signal, Kernel const& kernel = {});

}  // namespace curtail::launch
