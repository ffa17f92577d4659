// SPDX-License-Identifier: Apache-2.0
#include "launch/process.hpp"

#include <fcntl.h>
#include <signal.h>
extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 declares without it
}
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "core/files.hpp"
#include "core/text.hpp"

namespace curtail::launch {
namespace {

/// Sends a signal through a descriptor, so that the number cannot have been given to another
/// process meanwhile.
template <class Check>
bool signal_if(pid_t pid, int signal, Check check)
{
    Fd const fd(pidfd_open(pid, 0));
    if (!fd) return false;
    auto const stat = read_process_stat(pid);
    return stat && stat->state != 'Z' && check(*stat) &&
           pidfd_send_signal(fd.get(), signal, nullptr, 0) == 0;
}

/// Whether a process was started with this in its environment. Of a process of another user nobody
/// knows: no.
bool has_variable(pid_t pid, std::string const& variable)
{
    auto const environment =
        read_file("/proc/" + std::to_string(pid) + "/environ", std::int64_t{8} << 20);
    if (!environment) return false;
    auto const all = split(*environment, '\0');
    return std::find(all.begin(), all.end(), variable) != all.end();
}

}  // namespace

std::optional<ProcessStat> read_process_stat(pid_t pid)
{
    char name[32] = "/proc/";
    auto* const end = std::to_chars(name + 6, name + 20, pid).ptr;
    std::memcpy(end, "/stat", sizeof "/stat");
    int const fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    char buffer[1024];
    ssize_t const n = read(fd, buffer, sizeof buffer);
    close(fd);
    if (n <= 0) return std::nullopt;
    // The name in parentheses may hold spaces and parentheses: fields count from the last one.
    // state is field 3, session 6, start 22.
    std::string_view text(buffer, static_cast<std::size_t>(n));
    auto const name_end = text.rfind(')');
    if (name_end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(name_end + 1);
    ProcessStat stat;
    for (int field = 3; field <= 22; ++field) {
        auto const begin = text.find_first_not_of(' ');
        if (begin == std::string_view::npos) return std::nullopt;
        text.remove_prefix(begin);
        auto const word = text.substr(0, text.find(' '));
        if (field == 3) stat.state = word[0];
        else if (field == 6) std::from_chars(word.data(), word.data() + word.size(), stat.session);
        else if (field == 22) std::from_chars(word.data(), word.data() + word.size(), stat.started);
        text.remove_prefix(word.size());
    }
    return stat;
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

bool is_running(ProcessIdentity const& identity)
{
    if (identity.boot != boot_id()) return false;
    auto const stat = read_process_stat(identity.pid);
    return stat && stat->started == identity.started && stat->state != 'Z';
}

bool signal_process(ProcessIdentity const& identity, int signal)
{
    return identity.boot == boot_id() &&
           signal_if(identity.pid, signal,
                     [&](ProcessStat const& stat) { return stat.started == identity.started; });
}

Sessions list_sessions()
{
    Sessions sessions;
    std::error_code error;
    for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end;
         it.increment(error)) {
        auto const name = it->path().filename().string();
        pid_t pid = 0;
        auto const [stop, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (bad != std::errc{} || stop != name.data() + name.size()) continue;
        if (auto const stat = read_process_stat(pid)) sessions.emplace(stat->session, pid);
    }
    return sessions;
}

int signal_session(Sessions const& sessions, ProcessIdentity const& leader,
                   std::string const& variable, int signal)
{
    if (leader.boot != boot_id()) return 0;
    auto const [first, last] = sessions.equal_range(leader.pid);
    // While the leader is there, as a corpse too, its number is nobody else's.
    auto const holder = read_process_stat(leader.pid);
    if (first == last || (holder && holder->started != leader.started)) return 0;
    int reached = 0;
    for (auto it = first; it != last; ++it)
        reached += signal_if(it->second, signal, [&](ProcessStat const& stat) {
            return stat.session == leader.pid && (holder || has_variable(it->second, variable));
        });
    return reached;
}

}  // namespace curtail::launch
