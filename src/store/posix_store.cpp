// SPDX-License-Identifier: Apache-2.0
#include "store/posix_store.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <random>

#include "core/text.hpp"

namespace curtail::store {
namespace {

/// openat2 has no wrapper in the C library of Debian 12.
int openat2_beneath(int root, char const* path, int flags)
{
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    return static_cast<int>(syscall(SYS_openat2, root, path, &how, sizeof how));
}

/// Alphabet of file names; a host name is foreign text too.
std::string host_name()
{
    char buffer[33]{};
    if (gethostname(buffer, sizeof buffer - 1) != 0) return "host";
    std::string name = buffer;
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
    return name;
}

/// Two containers may share host name and process number; 64 random bits tell them apart.
std::string temporary_name(std::string_view file)
{
    static std::string const process = host_name() + "." + [] {
        std::random_device device;
        auto const bits = std::uint64_t{device()} << 32 | device();
        std::array<unsigned char, 8> bytes;
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<unsigned char>(bits >> (8 * i));
        return hex(bytes);
    }();
    static std::atomic<std::uint64_t> counter{0};
    return "." + std::string(file) + "." + process + "." + std::to_string(getpid()) + "." +
           std::to_string(counter++) + ".tmp";
}

/// Renames unless the new name exists. Where the file system cannot promise that (NFS), an empty
/// folder of that name is replaced: whoever was about to write into it tries again.
bool rename_to_new(int folder, char const* from, char const* to)
{
    if (renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return true;
    return (errno == EINVAL || errno == ENOSYS) && renameat(folder, from, folder, to) == 0;
}

/// Errors after which a request may still have been carried out, or may be yet: a server that
/// stopped answering.
bool is_unsure(int error)
{
    return error == EIO || error == ETIMEDOUT || error == ESTALE || error == EAGAIN ||
           error == EINTR || error == ENOTCONN || error == ECONNRESET || error == EHOSTDOWN ||
           error == EHOSTUNREACH || error == EREMOTEIO;
}

struct Verdict {
    ExitCode code;
    char const* remedy;
};

Verdict judge(int error)
{
    switch (error) {
        case ENOSPC:
        case EDQUOT:
            return {ExitCode::io, "the store is full: free some space; what is in it is whole"};
        case EFBIG:
            return {ExitCode::io,
                    "a file of this size is not allowed here: raise the limit (ulimit -f) or the "
                    "file system's"};
        case EROFS:
            return {ExitCode::permission, "the store is read-only: mount it for writing"};
        case EACCES:
        case EPERM:
            return {ExitCode::permission,
                    "every member of a run needs to read and write its store: see docs/store.md"};
        case ELOOP:
        case ENOTDIR:
        case EXDEV:
            return {
                ExitCode::permission,
                "a store has plain folders only: remove the symbolic link or file on this path"};
        case EMLINK:
        case EOPNOTSUPP:
            return {ExitCode::unavailable,
                    "a store needs a file system with hard links: see docs/store.md"};
        case ENOENT:
            return {ExitCode::unavailable, "the store's folder is gone: is it still mounted?"};
        default:
            return {is_unsure(error) && error != EIO ? ExitCode::temporary : ExitCode::io, ""};
    }
}

}  // namespace

/// Gone from its folder when the object goes.
struct PosixStore::Temporary {
    Fd folder;
    std::string name;

    Temporary(Fd where, std::string what) : folder(std::move(where)), name(std::move(what)) {}
    Temporary(Temporary&& other) noexcept
        : folder(std::move(other.folder)), name(std::move(other.name))
    {
        other.name.clear();
    }
    ~Temporary()
    {
        if (!name.empty()) unlinkat(folder.get(), name.c_str(), 0);
    }

    /// Whether the file has a second name. Opening it makes an NFS client ask the server instead of
    /// its cache.
    [[nodiscard]] std::optional<bool> is_linked() const
    {
        Fd const fd(openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        struct stat status {};
        if (!fd || fstat(fd.get(), &status) != 0) return std::nullopt;
        return status.st_nlink == 2;
    }
};

PosixStore::PosixStore(std::filesystem::path root, Fd fd, mode_t mode, Lookup lookup)
    : root_(std::move(root)), fd_(std::move(fd)), mode_(mode), lookup_(lookup)
{
}

Result<std::unique_ptr<PosixStore>> PosixStore::open(std::filesystem::path const& root,
                                                     Missing missing, Lookup lookup)
{
    auto const what = "cannot open store " + root.string();
    if (missing == Missing::make)
        if (auto made = make_folder(root); !made) return tl::unexpected(made.error().within(what));
    Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd && errno == ENOENT)
        return fail(ExitCode::unavailable, what, errno_text(errno),
                    "mount it, or correct `store` in the run's file; to begin a run, make it once: "
                    "mkdir -p " +
                        root.string());
    if (!fd) return fail(judge(errno).code, what, errno_text(errno), judge(errno).remedy);
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) return fail(ExitCode::io, what, errno_text(errno));
    if (lookup == Lookup::kernel && !Fd(openat2_beneath(fd.get(), ".", O_PATH | O_DIRECTORY)))
        lookup = Lookup::stepwise;
    return std::unique_ptr<PosixStore>(
        new PosixStore(root, std::move(fd), status.st_mode & 07777, lookup));
}

tl::unexpected<Error> PosixStore::failure(char const* act, ObjectName const& name, int error) const
{
    auto const [code, remedy] = judge(error);
    return fail(code,
                std::string("cannot ") + act + " " + name.text() + " in store " + root_.string(),
                errno_text(error), remedy);
}

bool PosixStore::root_is_gone() const
{
    int const error = errno;
    struct stat status {};
    bool const gone = fstat(fd_.get(), &status) != 0 || status.st_nlink == 0;
    errno = error;
    return gone;
}

Fd PosixStore::open_stepwise(std::string_view path, int flags) const
{
    Fd at;
    auto const steps = split(path, '/');
    for (std::size_t i = 0; i < steps.size(); ++i) {
        bool const last = i + 1 == steps.size();
        int const parent = at ? at.get() : fd_.get();
        at = Fd(openat(parent, std::string(steps[i]).c_str(),
                       (last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC));
        if (!at) return at;
    }
    return at;
}

Fd PosixStore::open_below(std::string_view path, int flags) const
{
    if (lookup_ == Lookup::stepwise) return open_stepwise(path, flags);
    return Fd(openat2_beneath(fd_.get(), std::string(path).c_str(), flags | O_NOFOLLOW));
}

/// Under its name from the first moment with the permissions that others need, and durable before
/// anything lies in it. Whoever finds it made by another cannot know whether that one came as far
/// as making the name durable.
Result<void> PosixStore::make_step(int parent, std::string const& step,
                                   ObjectName const& name) const
{
    auto const failed = [&] { return failure("make the folder of", name, errno); };
    mode_t const wanted = mode_ | S_IRWXU;
    auto const temporary = temporary_name(step);
    if (mkdirat(parent, temporary.c_str(), 0700) != 0) return failed();
    Fd const made(
        openat(parent, temporary.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    bool const ready = made && fchmod(made.get(), wanted) == 0 && fsync(made.get()) == 0;
    bool const named = ready && rename_to_new(parent, temporary.c_str(), step.c_str());
    if (!named) {
        int const error = errno;
        unlinkat(parent, temporary.c_str(), AT_REMOVEDIR);
        errno = error;
        if (!ready || (error != EEXIST && error != ENOTEMPTY)) return failed();
    }
    if (fsync(parent) != 0) return failed();
    return {};
}

Result<Fd> PosixStore::make_folder_of(ObjectName const& name) const
{
    constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if (Fd there = open_below(name.folder(), O_RDONLY | O_DIRECTORY)) return there;
    if (errno != ENOENT) return failure("write", name, errno);
    Fd at;
    for (auto step_view : split(name.folder(), '/')) {
        std::string const step(step_view);
        int const parent = at ? at.get() : fd_.get();
        Fd next(openat(parent, step.c_str(), flags));
        if (!next && errno == ENOENT) {
            if (auto made = make_step(parent, step, name); !made)
                return tl::unexpected(made.error());
            next = Fd(openat(parent, step.c_str(), flags));
        }
        if (!next) return failure("write", name, errno);
        at = std::move(next);
    }
    return at;
}

Result<PosixStore::Temporary> PosixStore::write_temporary(ObjectName const& name,
                                                          std::span<std::byte const> bytes) const
{
    auto const temporary = temporary_name(name.file());
    auto folder = make_folder_of(name);
    Fd fd;
    // An empty folder may be removed under our feet, by whoever deletes the last old payload in it.
    constexpr int tries = 5;
    for (int i = 0; i < tries; ++i) {
        if (i > 0) folder = make_folder_of(name);
        if (folder)
            fd = Fd(openat(folder->get(), temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (fd || errno != ENOENT || root_is_gone()) break;
    }
    if (!folder) return tl::unexpected(folder.error());
    if (!fd) return failure("write", name, errno);
    Temporary made(std::move(*folder), temporary);
    if (int const error = write_all(fd.get(), text_of(bytes))) return failure("write", name, error);
    if (fchmod(fd.get(), mode_ & 0666) != 0 || fsync(fd.get()) != 0)
        return failure("write", name, errno);
    return made;
}

Result<CreateOutcome> PosixStore::create(ObjectName const& name, std::span<std::byte const> bytes)
{
    auto const temporary = write_temporary(name, bytes);
    if (!temporary) return tl::unexpected(temporary.error());
    int const folder = temporary->folder.get();
    if (linkat(folder, temporary->name.c_str(), folder, std::string(name.file()).c_str(), 0) != 0) {
        // A reply lost on the way makes the client ask again and hear EEXIST about its own link:
        // the file itself knows better.
        int const error = errno;
        auto const linked = temporary->is_linked();
        if (!linked || (!*linked && is_unsure(error))) return CreateOutcome::unknown;
        if (!*linked && error == EEXIST) return CreateOutcome::exists;
        if (!*linked) return failure("create", name, error);
    }
    // Visible, but a crash of the machine could still take it back.
    if (fsync(folder) != 0) return CreateOutcome::unknown;
    return CreateOutcome::created;
}

Result<void> PosixStore::put(ObjectName const& name, std::span<std::byte const> bytes)
{
    auto temporary = write_temporary(name, bytes);
    if (!temporary) return tl::unexpected(temporary.error());
    int const folder = temporary->folder.get();
    if (renameat(folder, temporary->name.c_str(), folder, std::string(name.file()).c_str()) != 0)
        return failure("write", name, errno);
    temporary->name.clear();
    if (fsync(folder) != 0) return failure("write", name, errno);
    return {};
}

Result<bool> PosixStore::read(ObjectName const& name, Bytes limit, Sink const& sink)
{
    Fd const fd = open_below(name.text(), O_RDONLY | O_NONBLOCK);
    if (!fd && errno == ENOENT && !root_is_gone()) return false;
    if (!fd) return failure("read", name, errno);
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) return failure("read", name, errno);
    auto const refuse = [&](std::string why) {
        return fail(ExitCode::data, "cannot read " + name.text() + " in store " + root_.string(),
                    std::move(why));
    };
    if (!S_ISREG(status.st_mode)) return refuse("it is not a plain file");
    if (status.st_size > limit.value)
        return refuse("it has " + std::to_string(status.st_size) + " bytes, the limit is " +
                      std::to_string(limit.value));
    Content buffer(static_cast<std::size_t>(std::min<off_t>(status.st_size, 1 << 20)));
    off_t left = status.st_size;
    if (left == 0) sink({}, {0});
    while (left > 0) {
        ssize_t const n = ::read(fd.get(), buffer.data(),
                                 std::min(buffer.size(), static_cast<std::size_t>(left)));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failure("read", name, errno);
        if (n == 0)
            return refuse("it ended early, as if somebody had cut it short while it was read");
        sink(std::span(buffer).first(static_cast<std::size_t>(n)), {status.st_size});
        left -= n;
    }
    return true;
}

Result<std::optional<ObjectInfo>> PosixStore::stat(ObjectName const& name)
{
    Fd const fd = open_below(name.text(), O_PATH);
    if (!fd && errno == ENOENT && !root_is_gone()) return std::optional<ObjectInfo>{};
    if (!fd) return failure("look at", name, errno);
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) return failure("look at", name, errno);
    if (!S_ISREG(status.st_mode))
        return fail(ExitCode::data, "cannot look at " + name.text(), "it is not a plain file");
    auto const ms = std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
    return std::optional(ObjectInfo{{status.st_size}, from_unix_ms(ms)});
}

Result<void> PosixStore::remove(ObjectName const& name)
{
    Fd const folder = open_below(name.folder(), O_RDONLY | O_DIRECTORY);
    if (!folder && errno == ENOENT) return {};
    if (!folder) return failure("remove", name, errno);
    if (unlinkat(folder.get(), std::string(name.file()).c_str(), 0) != 0 && errno != ENOENT)
        return failure("remove", name, errno);
    remove_empty_folders(name.folder());
    return {};
}

/// Payloads have folders of their own, a writer's within a round's; what is not empty stays, and
/// what lies higher up.
void PosixStore::remove_empty_folders(std::string_view folder) const
{
    constexpr std::size_t kept = 3;  // runs/<run>/models
    for (; split(folder, '/').size() > kept; folder = folder.substr(0, folder.rfind('/'))) {
        auto const slash = folder.rfind('/');
        Fd const parent = open_below(folder.substr(0, slash), O_RDONLY | O_DIRECTORY);
        if (!parent || unlinkat(parent.get(), std::string(folder.substr(slash + 1)).c_str(),
                                AT_REMOVEDIR) != 0)
            return;
    }
}

}  // namespace curtail::store
