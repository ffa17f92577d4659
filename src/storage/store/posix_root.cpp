// SPDX-License-Identifier: Apache-2.0
#include "storage/store/posix_root.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <random>

#include "base/core/new_files.hpp"
#include "base/core/text.hpp"
#include "storage/store/posix_errors.hpp"

namespace curtail::store {
namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// As in linux/openat2.h, which systems with an older kernel lack. The C library has no wrapper.
struct OpenHow {
    std::uint64_t flags;
    std::uint64_t mode;
    std::uint64_t resolve;
};
constexpr std::uint64_t resolve_no_magiclinks = 0x02;
constexpr std::uint64_t resolve_no_symlinks = 0x04;
constexpr std::uint64_t resolve_beneath = 0x08;
#ifdef SYS_openat2
constexpr long openat2_number = SYS_openat2;
#else
constexpr long openat2_number = 437;  // on every architecture but Alpha
#endif

int openat2_beneath(int root, char const* path, int flags)
{
    OpenHow const how{static_cast<std::uint64_t>(flags | O_CLOEXEC), 0,
                      resolve_beneath | resolve_no_symlinks | resolve_no_magiclinks};
    return static_cast<int>(syscall(openat2_number, root, path, &how, sizeof how));
}

// The host's name in the alphabet of file names.
std::string host_name()
{
    char buffer[33]{};
    if (gethostname(buffer, sizeof buffer - 1) != 0) return "host";
    std::string name = buffer;
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
    return name;
}

// Renames unless the new name exists. A file system that cannot promise this (NFS) replaces an
// empty folder of that name; a process about to write into that folder then tries again.
bool rename_to_new(int folder, char const* from, char const* to)
{
    if (renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return true;
    return (errno == EINVAL || errno == ENOSYS) && renameat(folder, from, folder, to) == 0;
}

void remove_folder_quietly(int parent, char const* name)
{
    int const error = errno;
    unlinkat(parent, name, AT_REMOVEDIR);
    errno = error;
}

tl::unexpected<Error> open_error(std::filesystem::path const& path, int error)
{
    auto const meaning = meaning_of(error);
    auto const remedy = error == ENOENT
                            ? "mount it, or correct `store` in the run's file; to start "
                              "a run, create it once: mkdir -p " +
                                  path.string()
                            : std::string(meaning.remedy);
    return fail(meaning.code, "cannot open store " + path.string(), errno_text(error), remedy);
}

}  // namespace

bool DurableFolders::contains(std::string_view path) const
{
    std::lock_guard const lock(mutex_);
    return paths_.contains(path);
}

void DurableFolders::add(std::string_view path)
{
    constexpr std::size_t most = 1000;  // each payload has a folder
    std::lock_guard const lock(mutex_);
    if (paths_.size() >= most) paths_.clear();
    paths_.emplace(path);
}

std::string temporary_name(std::string_view file)
{
    // Containers may share host name and process number, so 64 random bits tell processes apart.
    static std::string const process = [] {
        std::random_device device;
        return fmt::format("{}.{:08x}{:08x}", host_name(), device(), device());
    }();
    static std::atomic<std::uint64_t> counter{0};
    return "." + std::string(file) + "." + process + "." + std::to_string(getpid()) + "." +
           std::to_string(counter++) + ".tmp";
}

PosixRoot::PosixRoot(std::filesystem::path path, Fd fd, mode_t mode, Lookup lookup)
    : path_(std::move(path)), fd_(std::move(fd)), mode_(mode), lookup_(lookup)
{
}

Result<PosixRoot> PosixRoot::open(std::filesystem::path const& path, IfMissing if_missing,
                                  Lookup lookup)
{
    if (if_missing == IfMissing::make)
        if (auto made = make_folder(path); !made)
            return tl::unexpected(made.error().with_context("cannot open store " + path.string()));
    Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return open_error(path, errno);
    struct stat status {};
    if (fstat(fd.get(), &status) != 0) return open_error(path, errno);
    // ENOSYS from an old kernel; EPERM from a container whose system call filter is old.
    bool const supported = bool(Fd(openat2_beneath(fd.get(), ".", O_PATH | O_DIRECTORY)));
    return PosixRoot(path, std::move(fd), status.st_mode & 07777,
                     supported ? lookup : Lookup::stepwise);
}

bool PosixRoot::is_gone() const
{
    int const error = errno;
    struct stat status {};
    bool const gone = fstat(fd_.get(), &status) != 0 || status.st_nlink == 0;
    errno = error;
    return gone;
}

Fd PosixRoot::open_stepwise(std::string_view path, int flags) const
{
    Fd at;
    auto const segments = split(path, '/');
    for (std::size_t i = 0; i < segments.size(); ++i) {
        bool const last = i + 1 == segments.size();
        int const parent = at ? at.get() : fd_.get();
        at = Fd(openat(parent, std::string(segments[i]).c_str(),
                       (last ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC));
        if (!at) return at;
    }
    return at;
}

Fd PosixRoot::open_below(std::string_view path, int flags) const
{
    if (lookup_ == Lookup::stepwise) return open_stepwise(path, flags);
    return Fd(openat2_beneath(fd_.get(), std::string(path).c_str(), flags | O_NOFOLLOW));
}

// An NFS client may answer ENOENT from its cache for a minute after another host has created the
// name. The client keeps such an answer for as long as the change attribute of the parent that it
// knows stays the same (nfs_neg_need_reval and nfs_check_verifier in fs/nfs/dir.c of Linux). The
// client asks the server for that attribute when a process opens the parent for reading
// (close-to-open consistency). O_PATH does not make it ask, nor does a path that leads through the
// parent. The parent may look missing for the same reason, so its own parent comes before it.
Fd PosixRoot::open_current(std::string_view path, int flags) const
{
    Fd fd = open_below(path, flags);
    if (fd || errno != ENOENT) return fd;
    auto const slash = path.rfind('/');
    bool const in_root = slash == path.npos;
    Fd const parent = in_root ? Fd(openat(fd_.get(), ".", folder_flags))
                              : open_current(path.substr(0, slash), O_RDONLY | O_DIRECTORY);
    if (!parent) {
        // A folder may permit passage, but not reading.
        if (errno == EACCES) errno = ENOENT;
        return {};
    }
    std::string const name(in_root ? path : path.substr(slash + 1));
    return Fd(openat(parent.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
}

// The folder appears under its name with the permissions that others need, and durable. A process
// that finds it made by another cannot know whether that one made the name durable, so it syncs
// the parent too.
bool PosixRoot::make_level(int parent, std::string const& name) const
{
    auto const temporary = temporary_name(name);
    if (mkdirat(parent, temporary.c_str(), 0700) != 0) return false;
    Fd const made(openat(parent, temporary.c_str(), folder_flags));
    bool const ready =
        made && give_mode(made.get(), mode_ | S_IRWXU) == 0 && fsync(made.get()) == 0;
    if (!ready || !rename_to_new(parent, temporary.c_str(), name.c_str())) {
        remove_folder_quietly(parent, temporary.c_str());
        if (!ready || (errno != EEXIST && errno != ENOTEMPTY)) return false;
    }
    return fsync(parent) == 0;
}

Fd PosixRoot::open_level(int parent, std::string const& name, bool is_durable) const
{
    Fd found(openat(parent, name.c_str(), folder_flags));
    if (found) return is_durable || fsync(parent) == 0 ? std::move(found) : Fd();
    if (errno == ENOENT && make_level(parent, name))
        found = Fd(openat(parent, name.c_str(), folder_flags));
    return found;
}

Fd PosixRoot::make_folders(std::string_view folder) const
{
    if (durable_->contains(folder)) {
        Fd found = open_below(folder, O_RDONLY | O_DIRECTORY);
        if (found || errno != ENOENT) return found;
    }
    Fd at;
    for (auto const segment : split(folder, '/')) {
        auto const path = folder.substr(
            0, static_cast<std::size_t>(segment.data() - folder.data()) + segment.size());
        bool const durable = durable_->contains(path);
        at = open_level(at ? at.get() : fd_.get(), std::string(segment), durable);
        if (!at) return at;
        if (!durable) durable_->add(path);
    }
    return at;
}

void PosixRoot::remove_empty_folders(std::string_view folder, std::size_t kept) const
{
    for (; split(folder, '/').size() > kept; folder = folder.substr(0, folder.rfind('/'))) {
        auto const slash = folder.rfind('/');
        Fd const parent = open_below(folder.substr(0, slash), O_RDONLY | O_DIRECTORY);
        if (!parent || unlinkat(parent.get(), std::string(folder.substr(slash + 1)).c_str(),
                                AT_REMOVEDIR) != 0)
            return;
    }
}

}  // namespace curtail::store
