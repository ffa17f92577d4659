// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "core/files.hpp"
#include "store/object_store.hpp"

namespace curtail::store {

/// How a path below the root is opened. Neither way leaves the root or follows a symbolic link.
enum class Lookup {
    kernel,   ///< openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), Linux 5.6
    stepwise  ///< one openat(O_NOFOLLOW) per path segment, any Linux
};

/// A name for a temporary next to `file`: `.<file>.<host>.<random>.<pid>.<counter>.tmp`. No two
/// processes on any host make the same one, and it is never an object's name.
[[nodiscard]] std::string temporary_name(std::string_view file);

/// The root folder of a store and the folders below it. Paths are relative to the root.
class PosixRoot {
  public:
    /// Uses `lookup` if the kernel supports it, otherwise Lookup::stepwise.
    [[nodiscard]] static Result<PosixRoot> open(std::filesystem::path const& path, Missing missing,
                                                Lookup lookup);

    [[nodiscard]] std::filesystem::path const& path() const { return path_; }
    [[nodiscard]] Lookup lookup() const { return lookup_; }
    /// The permission bits of the root, which all folders and files below it get.
    [[nodiscard]] mode_t mode() const { return mode_; }
    /// Whether the root was removed after it was opened. Then a missing file means that the store
    /// is away, not that the object does not exist. Keeps errno.
    [[nodiscard]] bool is_gone() const;

    /// Fails with an empty Fd and errno.
    [[nodiscard]] Fd open_below(std::string_view path, int flags) const;
    /// Opens a folder and creates missing levels; each is durable before the next. Fails with an
    /// empty Fd and errno.
    [[nodiscard]] Fd make_folders(std::string_view folder) const;
    /// Removes `folder` and its parents while they are empty, down to `kept` path segments.
    void remove_empty_folders(std::string_view folder, std::size_t kept) const;

  private:
    PosixRoot(std::filesystem::path path, Fd fd, mode_t mode, Lookup lookup);
    [[nodiscard]] Fd open_stepwise(std::string_view path, int flags) const;
    [[nodiscard]] bool make_level(int parent, std::string const& name) const;

    std::filesystem::path path_;
    Fd fd_;
    mode_t mode_;
    Lookup lookup_;
};

}  // namespace curtail::store
