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

/// An open file descriptor; closed when it goes.
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

/// Whole file; `no_input` if it cannot be read, `data` if it is longer than `limit` bytes.
[[nodiscard]] Result<std::string> read_file(std::filesystem::path const& path,
                                            std::int64_t limit = std::int64_t{1} << 30);
/// The same, but a file that does not exist is an answer, not a failure.
[[nodiscard]] Result<std::optional<std::string>> read_file_if_there(
    std::filesystem::path const& path, std::int64_t limit = std::int64_t{1} << 30);
/// Replaces `path` as one act that survives a crash: temporary in the same folder, fsync, rename,
/// fsync of the folder. Nobody ever sees half of it; on failure (full disk) the old file stays and
/// no temporary is left.
[[nodiscard]] Result<void> write_file(std::filesystem::path const& path, std::string_view content,
                                      unsigned mode = 0644);
/// The same for a file that a library writes by itself: `fill` gets the temporary's name.
[[nodiscard]] Result<void> replace_file(
    std::filesystem::path const& path,
    std::function<Result<void>(std::filesystem::path const&)> const& fill);
/// One line at the end of a file, in one write; with `durable` on disk before it returns.
[[nodiscard]] Result<void> append_line(std::filesystem::path const& path, std::string_view line,
                                       bool durable);
[[nodiscard]] Result<void> make_folder(std::filesystem::path const& path);
/// Writes everything to a descriptor, through short writes and EINTR. errno on failure, else 0.
[[nodiscard]] int write_all(int fd, std::string_view content);
[[nodiscard]] Result<void> sync_folder(std::filesystem::path const& folder);

/// An exclusive lock on a file, held while the object lives and dropped by the kernel if the
/// process dies.
class FileLock {
  public:
    /// `temporary` at once if somebody else holds it; the error names that process if it is known.
    [[nodiscard]] static Result<FileLock> take(std::filesystem::path const& path);

  private:
    explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
    Fd fd_;
};

}  // namespace curtail
