// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/poller_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "base/core/json.hpp"
#include "base/core/new_files.hpp"
#include "base/core/text.hpp"
#include "base/core/time.hpp"
#include "base/process/identity.hpp"

namespace curtail::poll {
namespace {

namespace fs = std::filesystem;

// The content of holder.json.
struct Holder {
    std::string host;
    std::string processes;  // the process namespace: a container has process ids of its own
    process::ProcessIdentity process;
    std::string nonce;
};

Holder this_process()
{
    std::random_device random;
    return {process::host_name(), process::process_namespace(), process::this_process(),
            fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random())};
}

std::string to_text(Holder const& holder)
{
    return json::to_string(
               json::Object{{"host", holder.host},
                            {"boot", holder.process.boot},
                            {"processes", holder.processes},
                            {"pid", std::int64_t{holder.process.pid}},
                            {"started", static_cast<std::int64_t>(holder.process.started)},
                            {"nonce", holder.nonce}}) +
           "\n";
}

Holder parse(json::ObjectReader& r)
{
    Holder holder;
    holder.host = r.text("host");
    holder.process.boot = r.text("boot");
    holder.processes = r.text("processes");
    auto const pid = r.integer("pid");
    r.require(pid > 0 && std::in_range<pid_t>(pid), "pid", "must be a process id");
    holder.process.pid = static_cast<pid_t>(pid);
    holder.process.started = static_cast<std::uint64_t>(r.integer("started"));
    holder.nonce = r.text("nonce");
    return holder;
}

// When the file server last saw a change of the file. Empty if the file does not exist.
std::optional<Time> change_time(fs::path const& file)
{
    struct stat status {};
    if (lstat(file.c_str(), &status) != 0) return std::nullopt;
    return Time{Millis{status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1'000'000}};
}

// Empty if the file does not exist. A damaged file is that of nobody known, and so is a link that
// leads nowhere.
std::optional<Holder> read_holder(fs::path const& file)
{
    auto read = json::read_record(file, parse);
    if (read && (*read || !change_time(file))) return *read;
    return Holder{};
}

tl::unexpected<Error> is_held(Holder const& by, std::string const& more)
{
    auto const who = by.host.empty() ? std::string("an unknown process")
                                     : "process " + std::to_string(by.process.pid) + " on " +
                                           shell_quoted(by.host);
    return fail(ExitCode::temporary, "cannot lock the poller's folder", who + " holds it" + more,
                "wait until that process has finished");
}

// Fails if the holder may still act. `now` is the time of the file server.
Result<void> check_dead(Holder const& holder, fs::path const& file, std::optional<Time> now,
                        Millis lifetime)
{
    // Without /proc, these have no value.
    bool const is_visible = holder.process.boot == process::boot_id() &&
                            holder.processes == process::process_namespace() &&
                            !holder.processes.empty();
    if (is_visible)
        return process::is_running(holder.process) ? is_held(holder, "") : Result<void>{};
    auto const renewed = change_time(file);
    if (!renewed) return {};
    auto const age = now.value_or(*renewed) - *renewed;
    // A time in the future is from before the server's clock was set back.
    if (std::chrono::abs(age) > lifetime) return {};
    return is_held(
        holder, fmt::format(" since at most {} ago, and counts as dead {} after that",
                            format_duration(std::max(age, Millis{0})), format_duration(lifetime)));
}

// Removes the file of the dead `holder`. Another poller may remove it at the same time, and create
// its own: such a file is put back.
Result<void> remove_dead(Holder const& holder, fs::path const& file, std::string const& nonce)
{
    auto const aside = file.parent_path() / (".holder." + nonce + ".dead");
    if (rename(file.c_str(), aside.c_str()) != 0)
        return errno == ENOENT
                   ? Result<void>{}
                   : fail(ExitCode::io, "cannot rename " + file.string(), errno_text(errno));
    auto const removed = read_holder(aside);
    bool const is_another = removed && removed->nonce != holder.nonce;
    if (is_another) (void)!link(aside.c_str(), file.c_str());
    unlink(aside.c_str());
    return is_another ? is_held(*removed, "") : Result<void>{};
}

// Creates `file` as the one of this process, unless a living poller has one there.
// `mine` has its content.
Result<void> create_holder(fs::path const& file, fs::path const& mine, Holder const& own,
                           Millis lifetime)
{
    Result<void> done = is_held({}, "");
    for (int tries = 0; tries < 3; ++tries) {
        bool const is_mine = link(mine.c_str(), file.c_str()) == 0;
        int const error = errno;
        if (is_mine) done = {};
        else if (error != EEXIST)
            done = fail(creation_code(error), "cannot create " + file.string(), errno_text(error));
        if (is_mine || error != EEXIST) break;
        auto const other = read_holder(file);
        if (!other) continue;
        done = check_dead(*other, file, change_time(mine), lifetime);
        if (!done) break;
        done = remove_dead(*other, file, own.nonce);
        if (!done) break;
        done = is_held(*other, "");
    }
    return done;
}

// Without a file of its own, a poller only looks for that of another one. A change of the locked
// file tells it the file server's time.
Result<void> check_no_other(fs::path const& file, std::string const& nonce, Millis lifetime)
{
    auto const other = read_holder(file);
    if (!other || other->nonce == nonce) return {};
    auto const lock = file.parent_path() / "lock";
    (void)!utimensat(AT_FDCWD, lock.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    return check_dead(*other, file, change_time(lock), lifetime);
}

}  // namespace

PollerLock::PollerLock(FileLock lock, fs::path holder, std::string nonce, Millis lifetime)
    : lock_(std::move(lock)),
      holder_(std::move(holder)),
      nonce_(std::move(nonce)),
      lifetime_(lifetime)
{
}

PollerLock::PollerLock(PollerLock&& other) noexcept
    : lock_(std::move(other.lock_)),
      holder_(std::move(other.holder_)),
      nonce_(std::exchange(other.nonce_, {})),
      lifetime_(other.lifetime_),
      has_file_(other.has_file_)
{
}

PollerLock::~PollerLock()
{
    if (!nonce_.empty() && has_file_ && confirm()) unlink(holder_.c_str());
}

Result<PollerLock> PollerLock::take(fs::path const& folder, Millis lifetime)
{
    auto lock = FileLock::take(folder / "lock");
    if (!lock) return tl::unexpected(lock.error());
    auto const own = this_process();
    auto const file = folder / "holder.json";
    PollerLock taken(std::move(*lock), file, own.nonce, lifetime);
    auto const mine = folder / (".holder." + own.nonce + ".tmp");
    taken.has_file_ = write_file(mine, to_text(own)).has_value();
    auto const created =
        taken.has_file_ ? create_holder(file, mine, own, lifetime) : Result<void>{};
    unlink(mine.c_str());
    if (!created) return tl::unexpected(created.error());
    if (auto confirmed = taken.confirm(); !confirmed) return tl::unexpected(confirmed.error());
    return taken;
}

Result<void> PollerLock::confirm() const
{
    if (!has_file_) return check_no_other(holder_, nonce_, lifetime_);
    auto const holder = read_holder(holder_);
    if (holder && holder->nonce == nonce_) {
        // A failure to renew shows later, when another poller takes the lock.
        (void)!utimensat(AT_FDCWD, holder_.c_str(), nullptr, 0);
        return {};
    }
    if (holder) return is_held(*holder, " by now");
    return fail(ExitCode::temporary, "cannot confirm the lock of the poller's folder",
                holder_.string() + " has disappeared: another poller may have acted since",
                "start the poller again");
}

}  // namespace curtail::poll
