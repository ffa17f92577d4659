// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>

#include "base/core/files.hpp"
#include "base/core/result.hpp"

namespace curtail::bridge {

/// A folder for sockets and small files, which only this user can enter. The destructor removes it.
class PrivateFolder {
  public:
    /// Creates the folder in $TMPDIR, or in /tmp if that path is too long for a socket. Removes
    /// those that killed processes of this user have left there. Fails with `cannot_create`.
    [[nodiscard]] static Result<PrivateFolder> create();
    ~PrivateFolder();
    PrivateFolder(PrivateFolder&& other) noexcept;
    PrivateFolder& operator=(PrivateFolder&&) = delete;
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

  private:
    explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
    std::optional<FileLock> lock_;  ///< says that the process lives
};

}  // namespace curtail::bridge
