// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace curtail {

/// Owns an open file descriptor and closes it on destruction.
class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    ~Fd() { reset(); }
    Fd(Fd&& other) noexcept : fd_(other.release()) {}
    Fd& operator=(Fd&& other) noexcept
    {
        if (this != &other) reset(other.release());
        return *this;
    }
    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] int release()
    {
        int const fd = fd_;
        fd_ = -1;
        return fd;
    }
    void reset(int fd = -1);
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_{-1};
};

/// Reads a whole file. Code `no_input` if it cannot be read, `data` if it is longer than `limit`
/// bytes.
[[nodiscard]] Result<std::string> read_file(std::filesystem::path const& path,
                                            std::int64_t limit = std::int64_t{1} << 30);
/// The same, but a missing file gives an empty optional instead of an error.
[[nodiscard]] Result<std::optional<std::string>> read_file_if_exists(
    std::filesystem::path const& path, std::int64_t limit = std::int64_t{1} << 30);
/// Replaces `path` atomically and durably: temporary file in the same folder, fsync, rename, fsync
/// of the folder. Readers never see a partial file. On failure (such as a full disk) the old file
/// remains and no temporary file is left.
[[nodiscard]] Result<void> write_file(std::filesystem::path const& path, std::string_view content,
                                      unsigned mode = 0644);
/// The same for a file that another library writes: `fill` receives the temporary file's path.
[[nodiscard]] Result<void> replace_file(
    std::filesystem::path const& path,
    std::function<Result<void>(std::filesystem::path const&)> const& fill);
/// Appends one line to a file in a single write. With `durable`, syncs it to disk before returning.
[[nodiscard]] Result<void> append_line(std::filesystem::path const& path, std::string_view line,
                                       bool durable);
[[nodiscard]] Result<void> make_folder(std::filesystem::path const& path);
/// Writes all of `content` to a descriptor; handles short writes and EINTR. Returns 0 or errno.
[[nodiscard]] int write_all(int fd, std::string_view content);
[[nodiscard]] Result<void> sync_folder(std::filesystem::path const& folder);

/// An exclusive lock on a file. Released on destruction, or by the kernel if the process dies.
class FileLock {
  public:
    /// Does not wait: code `temporary` if another process holds the lock. The error names that
    /// process if its name is in the file.
    [[nodiscard]] static Result<FileLock> take(std::filesystem::path const& path);

  private:
    explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
    Fd fd_;
};

}  // namespace curtail
