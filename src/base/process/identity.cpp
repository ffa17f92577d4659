// SPDX-License-Identifier: Apache-2.0
#include "base/process/identity.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/core/files.hpp"
#include "base/core/text.hpp"

namespace curtail::process {
namespace {

// Sends a signal to a process that passes `check`. Through a descriptor, so that the kernel cannot
// reuse the number between check and signal. Kernels without one leave that gap.
template <class Check>
bool signal_if(pid_t pid, int signal, Kernel const& kernel, Check check)
{
    Fd const fd = kernel.open_process(pid);
    if (!fd && errno != ENOSYS) return false;
    auto const stat = read_process_stat(pid);
    if (!stat || stat->state == 'Z' || !check(*stat)) return false;
    return (fd ? send_signal(fd, signal) : kill(pid, signal)) == 0;
}

// Returns whether a process started with this variable in its environment. Returns false for a
// process of another user, whose environment is unreadable.
bool has_variable(pid_t pid, std::string const& variable)
{
    auto const environment =
        read_file("/proc/" + std::to_string(pid) + "/environ", std::int64_t{8} << 20);
    if (!environment) return false;
    auto const all = split(*environment, '\0');
    return std::find(all.begin(), all.end(), variable) != all.end();
}

// Reads at most `size` bytes of /proc/PID/stat. Returns 0 if there is no such process.
std::size_t read_stat_file(pid_t pid, char* buffer, std::size_t size)
{
    char name[32] = "/proc/";
    auto* const end = std::to_chars(name + 6, name + 20, pid).ptr;
    std::memcpy(end, "/stat", sizeof "/stat");
    int const fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t const n = read(fd, buffer, size);
    close(fd);
    return n < 0 ? 0 : static_cast<std::size_t>(n);
}

// Parses the fields after the process name: state is field 3, session 6, start time 22.
std::optional<ProcessStat> parse_stat(std::string_view text)
{
    ProcessStat stat;
    for (int field = 3; field <= 22; ++field) {
        auto const begin = text.find_first_not_of(' ');
        if (begin == std::string_view::npos) return std::nullopt;
        text.remove_prefix(begin);
        auto const word = text.substr(0, text.find(' '));
        if (field == 3) stat.state = word[0];
        if (field == 6) stat.session = parse_number<pid_t>(word).value_or(0);
        if (field == 22) stat.started = parse_number<std::uint64_t>(word).value_or(0);
        text.remove_prefix(word.size());
    }
    return stat;
}

}  // namespace

std::optional<ProcessStat> read_process_stat(pid_t pid)
{
    char buffer[1024];
    std::string_view text(buffer, read_stat_file(pid, buffer, sizeof buffer));
    // The name in parentheses may contain spaces and parentheses itself.
    auto const name_end = text.rfind(')');
    if (name_end == std::string_view::npos) return std::nullopt;
    return parse_stat(text.substr(name_end + 1));
}

std::string boot_id()
{
    return std::string(trim(read_file("/proc/sys/kernel/random/boot_id", 128).value_or("unknown")));
}

std::string host_name()
{
    char name[256] = "";
    return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string process_namespace()
{
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
}

ProcessIdentity this_process()
{
    auto const stat = read_process_stat(getpid());
    return {getpid(), stat ? stat->started : 0, boot_id()};
}

bool is_running(ProcessIdentity const& identity)
{
    if (identity.boot != boot_id()) return false;
    auto const stat = read_process_stat(identity.pid);
    if (stat) return stat->started == identity.started && stat->state != 'Z';
    // With the mount option hidepid, /proc does not show the processes of other users.
    return identity.pid > 0 && (kill(identity.pid, 0) == 0 || errno == EPERM);
}

bool signal_process(ProcessIdentity const& identity, std::string const& variable, int signal,
                    Kernel const& kernel)
{
    return identity.boot == boot_id() &&
           signal_if(identity.pid, signal, kernel, [&](ProcessStat const& stat) {
               return stat.started == identity.started && has_variable(identity.pid, variable);
           });
}

Sessions list_sessions()
{
    Sessions sessions;
    std::error_code error;
    for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end;
         it.increment(error)) {
        auto const pid = parse_number<pid_t>(it->path().filename().string());
        if (!pid) continue;
        if (auto const stat = read_process_stat(*pid)) sessions.emplace(stat->session, *pid);
    }
    return sessions;
}

int signal_session(Sessions const& sessions, ProcessIdentity const& leader,
                   std::string const& variable, int signal, Kernel const& kernel)
{
    if (leader.boot != boot_id()) return 0;
    auto const [first, last] = sessions.equal_range(leader.pid);
    // While the leader exists, even as a zombie, the kernel does not reuse its number.
    auto const holder = read_process_stat(leader.pid);
    if (first == last || (holder && holder->started != leader.started)) return 0;
    bool const is_proven = holder && has_variable(leader.pid, variable);
    int reached = 0;
    for (auto it = first; it != last; ++it) {
        auto const is_member = [&](ProcessStat const& stat) {
            return stat.session == leader.pid && (is_proven || has_variable(it->second, variable));
        };
        if (signal_if(it->second, signal, kernel, is_member)) ++reached;
    }
    return reached;
}

}  // namespace curtail::process
