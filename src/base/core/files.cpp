// SPDX-License-Identifier: Apache-2.0
#include "base/core/files.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/core/new_files.hpp"
#include "base/core/text.hpp"
#include "base/core/units.hpp"

namespace curtail {
namespace {

namespace fs = std::filesystem;

fs::path temporary_for(fs::path const& path)
{
    static std::atomic<unsigned> counter{0};
    return path.parent_path() / ("." + path.filename().string() + "." + std::to_string(getpid()) +
                                 "." + std::to_string(counter++) + ".tmp");
}

fs::path folder_of(fs::path const& path)
{
    return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

tl::unexpected<Error> cannot(char const* action, fs::path const& path, int error, ExitCode code)
{
    std::string remedy;
    if (error == ENOSPC || error == EDQUOT) {
        remedy = "free disk space, or remove files";
        // What is replaced stays as it was until then. A line that cannot be appended is lost.
        if (std::string_view(action) != "append to") remedy += ", and try again; no data was lost";
        if (code == ExitCode::cannot_create) code = creation_code(error);
    }
    if (error == EISDIR) remedy = "remove the folder of that name";
    return fail(code, std::string("cannot ") + action + " " + path.string(), errno_text(error),
                remedy);
}

int sync_path(fs::path const& path, int flags)
{
    Fd const fd(open(path.c_str(), flags | O_CLOEXEC));
    if (!fd) return errno;
    return fsync(fd.get()) == 0 ? 0 : errno;
}

// Appends at most `limit` bytes to `content`. Returns 0 or errno.
int read_up_to(int fd, std::int64_t limit, std::string& content)
{
    char buffer[1 << 16];
    while (static_cast<std::int64_t>(content.size()) < limit) {
        auto const room = limit - static_cast<std::int64_t>(content.size());
        auto const wanted = std::min<std::int64_t>(sizeof buffer, room);
        ssize_t const n = read(fd, buffer, static_cast<std::size_t>(wanted));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) break;
        content.append(buffer, static_cast<std::size_t>(n));
    }
    return 0;
}

Result<std::string> read_to_end(int fd, std::string const& source, std::int64_t limit,
                                std::int64_t expected_size)
{
    std::string content;
    content.reserve(static_cast<std::size_t>(expected_size));
    // One byte more than the limit shows that the file is longer: it may grow, or have no size.
    if (int const error = read_up_to(fd, limit + 1, content))
        return cannot("read", source, error, ExitCode::io);
    if (static_cast<std::int64_t>(content.size()) > limit)
        return fail(ExitCode::data, "cannot read " + source,
                    "it is longer than " + std::to_string(limit) + " bytes");
    return content;
}

// The type of a file that is not regular, for messages.
char const* type_name(mode_t mode)
{
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    return "a device";
}

tl::unexpected<Error> not_regular(char const* action, fs::path const& path, mode_t mode,
                                  ExitCode code, char const* remedy)
{
    return fail(code, std::string("cannot ") + action + " " + path.string(),
                std::string("it is ") + type_name(mode) + ", not a regular file", remedy);
}

tl::unexpected<Error> not_readable(fs::path const& path, mode_t mode)
{
    return not_regular("read", path, mode, ExitCode::no_input, "name a regular file");
}

// Tells whether the file ends in the middle of a line. Otherwise returns errno.
tl::expected<bool, int> ends_mid_line(int fd)
{
    char last = '\n';
    off_t const end = lseek(fd, 0, SEEK_END);
    if (end > 0 && pread(fd, &last, 1, end - 1) != 1) return tl::unexpected(errno);
    return last != '\n';
}

}  // namespace

void Fd::reset(int fd)
{
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
}

int write_all(int fd, std::string_view content)
{
    while (!content.empty()) {
        ssize_t const n = write(fd, content.data(), content.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        content.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
}

Result<std::string> read_descriptor(int fd, std::string const& source, std::int64_t limit)
{
    return read_to_end(fd, source, limit, 0);
}

Result<std::optional<Fd>> open_to_read(fs::path const& path)
{
    // O_NONBLOCK: opening a pipe must not wait for its writer.
    Fd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd && (errno == ENOENT || errno == ENOTDIR)) return std::optional<Fd>{};
    struct stat status {};
    if (!fd) {
        int const error = errno;
        // The error of a socket would mislead.
        if (error == ENXIO && stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode))
            return not_readable(path, status.st_mode);
        return cannot("read", path, error, ExitCode::no_input);
    }
    if (fstat(fd.get(), &status) != 0) return cannot("read", path, errno, ExitCode::io);
    if (!S_ISREG(status.st_mode)) return not_readable(path, status.st_mode);
    return std::optional(std::move(fd));
}

Result<std::optional<std::string>> read_file_if_exists(fs::path const& path, std::int64_t limit)
{
    auto const fd = open_to_read(path);
    if (!fd) return tl::unexpected(fd.error());
    if (!*fd) return std::optional<std::string>{};
    struct stat status {};
    if (fstat((*fd)->get(), &status) != 0) return cannot("read", path, errno, ExitCode::io);
    auto const size = std::int64_t{status.st_size};
    if (size > limit)
        return fail(
            ExitCode::data, "cannot read " + path.string(),
            "it has " + std::to_string(size) + " bytes, the limit is " + std::to_string(limit));
    auto content = read_to_end((*fd)->get(), path.string(), limit, size);
    if (!content) return tl::unexpected(content.error());
    return std::optional(std::move(*content));
}

Result<std::string> read_file(fs::path const& path, std::int64_t limit)
{
    auto content = read_file_if_exists(path, limit);
    if (!content) return tl::unexpected(content.error());
    if (!*content) return cannot("read", path, ENOENT, ExitCode::no_input);
    return std::move(**content);
}

Result<std::string> read_end(fs::path const& path, std::int64_t bytes)
{
    auto const opened = open_to_read(path);
    if (!opened) return tl::unexpected(opened.error());
    if (!*opened) return std::string();
    auto const& fd = **opened;
    off_t const size = lseek(fd.get(), 0, SEEK_END);
    if (size < 0) return cannot("read", path, errno, ExitCode::io);
    off_t const begin = std::max<off_t>(0, size - bytes);
    std::string text(static_cast<std::size_t>(size - begin), '\0');
    for (std::size_t have = 0; have < text.size();) {
        ssize_t const n = pread(fd.get(), text.data() + have, text.size() - have,
                                begin + static_cast<off_t>(have));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot("read", path, errno, ExitCode::io);
        if (n == 0) text.resize(have);
        have += static_cast<std::size_t>(n);
    }
    return text;
}

Result<void> replace_file(fs::path const& path,
                          std::function<Result<void>(fs::path const&)> const& fill)
{
    auto const temporary = temporary_for(path);
    auto const abandon = [&](tl::unexpected<Error> error) -> Result<void> {
        unlink(temporary.c_str());
        return error;
    };
    if (auto filled = fill(temporary); !filled) return abandon(tl::unexpected(filled.error()));
    if (int const error = sync_path(temporary, O_RDONLY | O_NOFOLLOW))
        return abandon(cannot("write", path, error, ExitCode::io));
    if (rename(temporary.c_str(), path.c_str()) != 0)
        return abandon(cannot("write", path, errno, ExitCode::cannot_create));
    return sync_folder(folder_of(path));
}

Result<void> write_file(fs::path const& path, std::string_view content, unsigned mode)
{
    return replace_file(path, [&](fs::path const& temporary) -> Result<void> {
        Fd const fd = open_new(temporary, O_WRONLY, mode);
        if (!fd) return cannot("write", path, errno, ExitCode::cannot_create);
        if (int const error = write_all(fd.get(), content))
            return cannot("write", path, error, ExitCode::io);
        return {};
    });
}

Result<void> create_file(fs::path const& path, std::string_view content)
{
    auto const temporary = temporary_for(path);
    if (auto written = write_file(temporary, content); !written) {
        written.error().what = "cannot write " + path.string();
        return written;
    }
    int const error = link(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
    unlink(temporary.c_str());
    if (error != 0 && error != EEXIST)
        return cannot("create", path, error, ExitCode::cannot_create);
    return {};
}

// Somebody who may write to the folder could have put a link or a pipe in the file's place.
Result<Fd> open_to_append(fs::path const& path)
{
    Fd fd = open_or_create(path, O_RDWR | O_APPEND | O_NONBLOCK | O_NOCTTY, 0666);
    if (!fd && errno == ELOOP)
        return fail(ExitCode::cannot_create, "cannot write " + path.string(),
                    "it is a symbolic link", "remove the link");
    if (!fd) return cannot("write", path, errno, ExitCode::cannot_create);
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) return cannot("write", path, errno, ExitCode::io);
    if (!S_ISREG(status.st_mode))
        return not_regular("write", path, status.st_mode, ExitCode::cannot_create, "remove it");
    return fd;
}

Result<void> append_line(fs::path const& path, std::string_view line, bool durable)
{
    auto const opened = open_to_append(path);
    if (!opened) return tl::unexpected(opened.error());
    Fd const& fd = *opened;
    // A writer killed in the middle of a line left no newline: its partial line must not absorb
    // this one.
    auto const partial = ends_mid_line(fd.get());
    if (!partial) return cannot("append to", path, partial.error(), ExitCode::io);
    auto const whole = (*partial ? "\n" : "") + std::string(line) + "\n";
    if (int const error = write_all(fd.get(), whole))
        return cannot("append to", path, error, ExitCode::io);
    if (durable && fdatasync(fd.get()) != 0) return cannot("append to", path, errno, ExitCode::io);
    return {};
}

Result<void> make_folder(fs::path const& path)
{
    std::error_code none;
    if (path.empty() || fs::is_directory(path, none)) return {};
    auto const above = path.parent_path();
    if (above != path)
        if (auto made = make_folder(above); !made) return made;
    // Others may create the same folder meanwhile.
    int const error = create_folder(path, 0777);
    if (error == 0 || (error == EEXIST && fs::is_directory(path, none))) return {};
    return cannot("create folder", path, error, ExitCode::cannot_create);
}

Result<void> sync_folder(fs::path const& folder)
{
    if (int const error = sync_path(folder, O_RDONLY | O_DIRECTORY))
        return cannot("sync folder", folder, error, ExitCode::io);
    return {};
}

namespace {

std::string own_host()
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return host;
}

// Tells whether the process that has written its name into a lock was one of this host and has
// ended.
bool holder_has_ended(fs::path const& lock)
{
    auto const holder = read_file(lock, 512).value_or("");
    auto const pid = leading_integer(holder);
    return pid && *pid > 0 && trim(holder) == std::to_string(*pid) + " on " + own_host() &&
           ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH;
}

// `process 77 on 'login1'`. Another user may have written the text.
std::string holder_text(std::string_view holder)
{
    if (holder.empty()) return "another process";
    auto const begin = std::to_string(leading_integer(holder).value_or(-1)) + " on ";
    if (!holder.starts_with(begin)) return "process " + shell_quoted(holder);
    return "process " + begin + shell_quoted(holder.substr(begin.size()));
}

// Returns false, with errno set, if there is no lock. A child that the holder was starting when it
// was killed has the lock until it ends, too. Waits for that one: flock has no limit of time, so it
// asks again and again.
bool lock_unless_held(int fd, fs::path const& path)
{
    constexpr int tries = 200;
    for (int i = 0; i < tries; ++i) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
        if (errno != EWOULDBLOCK) return false;
        if (!holder_has_ended(path)) break;
        std::this_thread::sleep_for(Millis{5});
    }
    errno = EWOULDBLOCK;
    return false;
}

}  // namespace

Result<FileLock> FileLock::take(fs::path const& path)
{
    Fd fd = open_or_create(path, O_RDWR | O_NONBLOCK | O_NOCTTY, 0666);
    if (!fd) return cannot("open lock", path, errno, ExitCode::cannot_create);
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) return cannot("open lock", path, errno, ExitCode::io);
    if (!S_ISREG(status.st_mode))
        return not_regular("lock", path, status.st_mode, ExitCode::cannot_create, "remove it");
    if (!lock_unless_held(fd.get(), path)) {
        if (errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOLCK)
            return fail(
                ExitCode::os_error, "cannot lock " + path.string(),
                std::string("its file system does not lock files (") + std::strerror(errno) + ")",
                "mount it with locks (on Lustre: the option `flock`), or move the run's "
                "folder to another file system");
        if (errno != EWOULDBLOCK) return cannot("lock", path, errno, ExitCode::os_error);
        auto const holder = read_file(path, 512).value_or("");
        return fail(ExitCode::temporary, "cannot lock " + path.string(),
                    holder_text(trim(holder)) + " holds the lock",
                    "wait until that process has finished");
    }
    // The name of the holder is only a help: a failure to write it does not matter.
    auto const holder = std::to_string(getpid()) + " on " + own_host() + "\n";
    if (ftruncate(fd.get(), 0) == 0) (void)!pwrite(fd.get(), holder.data(), holder.size(), 0);
    return FileLock(std::move(fd));
}

namespace {

// Type and options of the mount that contains `folder`, as in proc(5).
std::string mount_of(fs::path const& folder)
{
    std::error_code error;
    auto const path = fs::weakly_canonical(folder, error).string() + "/";
    auto const mounts = read_file("/proc/self/mountinfo").value_or("");
    std::string found;
    std::size_t longest = 0;
    for (auto const line : split(mounts, '\n')) {
        auto const fields = split(line, ' ');
        auto const dash = line.find(" - ");
        if (fields.size() < 5 || dash == std::string_view::npos) continue;
        auto const point = std::string(fields[4]) + (fields[4] == "/" ? "" : "/");
        if (!path.starts_with(point) || point.size() < longest) continue;
        longest = point.size();
        found = line.substr(dash + 3);
    }
    return found;
}

// Returns whether two descriptors can lock one file at the same time.
bool locks_hold_nothing(fs::path const& folder)
{
    auto const file = temporary_for(folder / "lock-test");
    auto const open_it = [&] {
        return Fd(open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    };
    auto const one = open_it();
    auto const other = open_it();
    bool const both = one && other && flock(one.get(), LOCK_EX | LOCK_NB) == 0 &&
                      flock(other.get(), LOCK_EX | LOCK_NB) == 0;
    unlink(file.c_str());
    return both;
}

}  // namespace

std::string doubt_about_locks(fs::path const& folder)
{
    if (locks_hold_nothing(folder))
        return "locks in " + folder.string() +
               " hold nothing: two processes can have the same one; mount its file system with "
               "locks";
    auto const mount = mount_of(folder);
    for (auto const* option : {"localflock", "local_lock=all", "local_lock=flock", "nolock"})
        if (mount.find(option) != std::string::npos)
            return "locks in " + folder.string() + " hold on this machine only (mount option " +
                   option + "); poll on one machine, or mount its file system without that option";
    return {};
}

}  // namespace curtail
