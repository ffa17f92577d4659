// SPDX-License-Identifier: Apache-2.0
#include "storage/store/posix_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/core/direct_io.hpp"
#include "base/core/new_files.hpp"
#include "storage/store/piece_reader.hpp"
#include "storage/store/posix_errors.hpp"
#include "storage/store/posix_listing.hpp"

namespace curtail::store {
// A file that is removed from its folder when this object is destroyed.
struct PosixStore::Temporary {
    Fd folder;
    std::string name;  // empty: renamed, nothing to remove

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

    // Returns whether the file has a second name. Opening the file makes an NFS client ask the
    // server instead of its cache.
    [[nodiscard]] std::optional<bool> is_linked() const
    {
        Fd const fd(openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
        struct stat status {};
        if (!fd || fstat(fd.get(), &status) != 0) return std::nullopt;
        return status.st_nlink == 2;
    }
};

struct PosixStore::OpenFile {
    Fd fd;
    struct stat status;
};

Result<std::unique_ptr<PosixStore>> PosixStore::open(std::filesystem::path const& root,
                                                     IfMissing if_missing, Lookup lookup)
{
    auto opened = PosixRoot::open(root, if_missing, lookup);
    if (!opened) return tl::unexpected(opened.error());
    return std::unique_ptr<PosixStore>(new PosixStore(std::move(*opened)));
}

std::string PosixStore::what(char const* act, ObjectName const& name) const
{
    return std::string("cannot ") + act + " " + name.text() + " in store " + root_.path().string();
}

tl::unexpected<Error> PosixStore::failure(char const* act, ObjectName const& name, int error) const
{
    auto const [code, remedy] = meaning_of(error);
    return fail(code, what(act, name), errno_text(error), remedy);
}

Result<std::pair<PosixStore::Temporary, Fd>> PosixStore::new_temporary(ObjectName const& name) const
{
    auto const temporary = temporary_name(name.file());
    // Another process may remove the empty folder after its last payload, so try again.
    constexpr int tries = 100;
    for (int i = 0; i < tries; ++i) {
        Fd folder = root_.make_folders(name.folder());
        Fd fd;
        if (folder)
            fd = Fd(openat(folder.get(), temporary.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
        if (fd) return std::pair(Temporary(std::move(folder), temporary), std::move(fd));
        if (errno != ENOENT || root_.is_gone()) break;
    }
    return failure("write", name, errno);
}

Result<PosixStore::Temporary> PosixStore::write_temporary(ObjectName const& name,
                                                          Pieces const& bytes,
                                                          CallLimits const& call) const
{
    auto made = new_temporary(name);
    if (!made) return tl::unexpected(made.error());
    int const fd = made->second.get();
    int const error = write_pieces(fd, bytes, call);
    if (error != 0 && error != ECANCELED) return failure("write", name, error);
    if (call.is_over())
        return fail(ExitCode::temporary, what("write", name), "the operation was cancelled");
    if (int const failed = give_mode(fd, root_.mode() & 0666))
        return failure("write", name, failed);
    if (fsync(fd) != 0) return failure("write", name, errno);
    return std::move(made->first);
}

Result<CreateOutcome> PosixStore::create(ObjectName const& name, std::span<std::byte const> bytes,
                                         CallLimits const& call)
{
    auto const temporary = write_temporary(name, bytes, call);
    if (!temporary) return tl::unexpected(temporary.error());
    int const folder = temporary->folder.get();
    if (linkat(folder, temporary->name.c_str(), folder, std::string(name.file()).c_str(), 0) != 0) {
        // If the first reply is lost, the client asks again and receives EEXIST about its own link.
        // So the file's number of links decides.
        int const error = errno;
        auto const linked = temporary->is_linked();
        if (!linked) return CreateOutcome::unknown;
        if (!*linked && error == EEXIST) return CreateOutcome::exists;
        if (!*linked && leaves_outcome_unknown(error)) return CreateOutcome::unknown;
        // link(2) answers EPERM on a file system without hard links, such as FAT.
        if (!*linked) return failure("create", name, error == EPERM ? EOPNOTSUPP : error);
    }
    // The object is visible, but a crash of the machine could still undo it.
    if (fsync(folder) != 0) return CreateOutcome::unknown;
    return CreateOutcome::created;
}

Result<void> PosixStore::put(ObjectName const& name, Pieces const& bytes, CallLimits const& call)
{
    auto temporary = write_temporary(name, bytes, call);
    if (!temporary) return tl::unexpected(temporary.error());
    int const folder = temporary->folder.get();
    if (renameat(folder, temporary->name.c_str(), folder, std::string(name.file()).c_str()) != 0)
        return failure("write", name, errno);
    temporary->name.clear();
    if (fsync(folder) != 0) return failure("write", name, errno);
    return {};
}

Result<std::optional<PosixStore::OpenFile>> PosixStore::open_object(char const* act,
                                                                    ObjectName const& name,
                                                                    int flags) const
{
    OpenFile file{root_.open_current(name.text(), flags), {}};
    if (!file.fd && errno == ENOENT && !root_.is_gone()) return std::nullopt;
    if (!file.fd || fstat(file.fd.get(), &file.status) != 0) return failure(act, name, errno);
    if (!S_ISREG(file.status.st_mode))
        return fail(ExitCode::data, what(act, name), "it is not a regular file");
    return std::optional(std::move(file));
}

Result<bool> PosixStore::read(ObjectName const& name, Bytes limit, Sink const& sink,
                              CallLimits const& call)
{
    auto const file = open_object("read", name, O_RDONLY | O_NONBLOCK);
    if (!file) return tl::unexpected(file.error());
    if (!*file) return false;
    off_t const size = (*file)->status.st_size;
    if (size > limit.value)
        return fail(ExitCode::data, what("read", name),
                    "it has " + std::to_string(size) + " bytes, the limit is " +
                        std::to_string(limit.value));
    if (size == 0) sink({}, {0});
    PieceReader pieces((*file)->fd.get(), size);
    for (off_t left = size; left > 0;) {
        if (call.is_over())
            return fail(ExitCode::temporary, what("read", name), "the operation was cancelled");
        auto const piece = pieces.next();
        if (!piece) return failure("read", name, piece.error());
        if (piece->empty())
            return fail(ExitCode::data, what("read", name), "it was truncated while it was read");
        sink(*piece, {size});
        left -= static_cast<off_t>(piece->size());
    }
    return true;
}

Result<std::optional<ObjectInfo>> PosixStore::stat(ObjectName const& name, CallLimits const&)
{
    auto const file = open_object("inspect", name, O_PATH);
    if (!file) return tl::unexpected(file.error());
    if (!*file) return std::optional<ObjectInfo>{};
    auto const& status = (*file)->status;
    auto const ms = std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
    return std::optional(ObjectInfo{{status.st_size}, from_unix_ms(ms)});
}

Result<void> PosixStore::remove(ObjectName const& name, CallLimits const&)
{
    Fd const folder = root_.open_below(name.folder(), O_RDONLY | O_DIRECTORY);
    if (!folder && errno == ENOENT) return {};
    if (!folder) return failure("remove", name, errno);
    auto const file = std::string(name.file());
    bool const removed =
        unlinkat(folder.get(), file.c_str(), 0) == 0 ||
        (errno == EISDIR && unlinkat(folder.get(), file.c_str(), AT_REMOVEDIR) == 0);
    if (!removed && errno != ENOENT) return failure("remove", name, errno);
    // Each payload has a folder of its own, inside one for its round. `runs/<run>/models` stays.
    constexpr std::size_t kept = 3;
    root_.remove_empty_folders(name.folder(), kept);
    return {};
}

Result<void> PosixStore::list(ObjectFolder const& folder, std::string const& after,
                              Visit const& visit, CallLimits const& call)
{
    return list_files(root_, folder, after, visit, call);
}

Result<std::vector<Leftover>> PosixStore::leftovers(ObjectFolder const& folder,
                                                    CallLimits const& call)
{
    return list_temporaries(root_, folder, call);
}

Result<void> PosixStore::remove_leftover(Leftover const& leftover, CallLimits const&)
{
    return remove_temporary(root_, leftover.name);
}

Result<bool> PosixStore::keeps_versions(CallLimits const&) { return false; }

}  // namespace curtail::store
