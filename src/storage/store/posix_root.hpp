// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/core/files.hpp"
#include "storage/store/object_store.hpp"

namespace curtail::store {

/// How a path below the root is opened. Neither way leads out of the root or follows a symbolic
/// link.
enum class Lookup {
    kernel,   ///< one openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS); needs Linux 5.6
    stepwise  ///< one openat(O_NOFOLLOW) per path segment; works on any Linux
};

/// Returns a new name for a temporary file or folder beside `file`:
/// `.<file>.<host>.<random>.<pid>.<counter>.tmp`. No two calls return the same name, not even on
/// different hosts. The name is never that of an object.
[[nodiscard]] std::string temporary_name(std::string_view file);

/// Folders whose names this process knows to be synced to disk. Thread-safe.
class DurableFolders {
  public:
    [[nodiscard]] bool contains(std::string_view path) const;
    /// Forgets the others if there are too many.
    void add(std::string_view path);

  private:
    mutable std::mutex mutex_;
    std::set<std::string, std::less<>> paths_;
};

/// The root folder of a store and the folders below it. Paths are relative to the root.
class PosixRoot {
  public:
    /// Opens the root folder `path`. Uses Lookup::stepwise if the kernel does not support `lookup`.
    /// Fails with `unavailable` if `path` does not exist and `if_missing` is IfMissing::refuse.
    [[nodiscard]] static Result<PosixRoot> open(std::filesystem::path const& path,
                                                IfMissing if_missing, Lookup lookup);

    [[nodiscard]] std::filesystem::path const& path() const { return path_; }
    [[nodiscard]] Lookup lookup() const { return lookup_; }
    /// Returns the permission bits of the root. New folders below the root get the same bits, and
    /// all rights for their owner. New files get only the read and write bits of the root.
    [[nodiscard]] mode_t mode() const { return mode_; }
    /// Returns true if the root was removed after it was opened. Then ENOENT for a file means that
    /// the whole store is gone, not only that the object does not exist. Does not change errno.
    [[nodiscard]] bool is_gone() const;

    /// Opens a file or folder with the flags of open(2). Returns an empty Fd and sets errno if this
    /// fails.
    [[nodiscard]] Fd open_below(std::string_view path, int flags) const;
    /// Opens a file or folder as open_below() does. If it is missing, asks the server of a network
    /// file system once more, whose client may remember a missing name for a minute.
    [[nodiscard]] Fd open_current(std::string_view path, int flags) const;
    /// Opens a folder, after creating those folders of its path that do not exist. The names of all
    /// folders of the path are then synced to disk: the process that created them may not have come
    /// to that. Returns an empty Fd and sets errno on failure.
    [[nodiscard]] Fd make_folders(std::string_view folder) const;
    /// Removes `folder` if it is empty, then its parent if that is empty, and so on. Keeps every
    /// folder whose path has `kept` segments or fewer. Ignores errors.
    void remove_empty_folders(std::string_view folder, std::size_t kept) const;

  private:
    PosixRoot(std::filesystem::path path, Fd fd, mode_t mode, Lookup lookup);
    [[nodiscard]] Fd open_stepwise(std::string_view path, int flags) const;
    [[nodiscard]] bool make_level(int parent, std::string const& name) const;
    /// Opens a folder, or creates it. Then its name is durable. `is_durable`: it was so before.
    [[nodiscard]] Fd open_level(int parent, std::string const& name, bool is_durable) const;

    std::filesystem::path path_;
    Fd fd_;
    mode_t mode_;
    Lookup lookup_;
    std::shared_ptr<DurableFolders> durable_{std::make_shared<DurableFolders>()};
};

}  // namespace curtail::store
