// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.hpp"

namespace curtail {

/// An open file descriptor, which the destructor closes.
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
    /// Returns the descriptor, which the caller must now close.
    [[nodiscard]] int release()
    {
        int const fd = fd_;
        fd_ = -1;
        return fd;
    }
    /// Closes the current descriptor and takes ownership of `fd`.
    void reset(int fd = -1);
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_{-1};
};

/// Opens a regular file to read it. Returns an empty optional if the file does not exist. Fails
/// with `no_input` if the file cannot be opened or is a folder, pipe, socket or device. Never waits
/// for the writer of a pipe.
[[nodiscard]] Result<std::optional<Fd>> open_to_read(std::filesystem::path const& path);
/// Reads a whole file. Fails like open_to_read(), with `no_input` if the file does not exist, and
/// with `io` if a read fails. Fails with `data` if the file is longer than `limit` bytes.
[[nodiscard]] Result<std::string> read_file(std::filesystem::path const& path,
                                            std::int64_t limit = std::int64_t{1} << 30);
/// Reads a whole file like read_file(). Returns an empty optional if the file does not exist.
[[nodiscard]] Result<std::optional<std::string>> read_file_if_exists(
    std::filesystem::path const& path, std::int64_t limit = std::int64_t{1} << 30);
/// Reads the last `bytes` bytes of a file, or the whole file if it is shorter. Returns an empty
/// text if the file does not exist. Fails with `io` if the file cannot be read.
[[nodiscard]] Result<std::string> read_end(std::filesystem::path const& path, std::int64_t bytes);
/// Reads a descriptor to its end. Messages call it `source`. Fails with `io` if a read fails, and
/// with `data` if there are more than `limit` bytes.
[[nodiscard]] Result<std::string> read_descriptor(int fd, std::string const& source,
                                                  std::int64_t limit = std::int64_t{1} << 30);
/// Replaces the content of `path` atomically and durably. Writes a temporary file in the same
/// folder, syncs the file to disk, renames it to `path`, and syncs the folder. Readers never see a
/// partial file. If writing fails, for example because the disk is full, the old file stays and no
/// temporary file remains.
[[nodiscard]] Result<void> write_file(std::filesystem::path const& path, std::string_view content,
                                      unsigned mode = 0666);
/// Creates a file, atomically and durably. Keeps an existing file, and then succeeds too. Fails
/// like write_file(), and with `cannot_create` if the file system has no hard links.
[[nodiscard]] Result<void> create_file(std::filesystem::path const& path, std::string_view content);
/// Replaces `path` like write_file(), but calls `fill` to write the temporary file. `fill` receives
/// the path of the temporary file. Use this function with a library that writes files itself, such
/// as HDF5.
[[nodiscard]] Result<void> replace_file(
    std::filesystem::path const& path,
    std::function<Result<void>(std::filesystem::path const&)> const& fill);
/// Opens a regular file to read it and to append to it. Creates the file if it
/// does not exist. Fails with `cannot_create` if `path` names a symbolic link, pipe, socket, device
/// or folder, or if the file cannot be opened. Never waits for the reader of a pipe.
[[nodiscard]] Result<Fd> open_to_append(std::filesystem::path const& path);
/// Appends `line` and a newline to a file. Creates the file if it does not exist. If the file ends
/// with a partial line, puts a newline before `line`. Appends all these bytes in a single write,
/// unless the system accepts only a part of them. If `durable`, syncs the file to disk before
/// returning. Fails with `cannot_create` if `path` is a link or not a regular file.
[[nodiscard]] Result<void> append_line(std::filesystem::path const& path, std::string_view line,
                                       bool durable);
/// Creates a folder and its missing parents. An existing folder is not an error. Fails with
/// `cannot_create` if a folder cannot be created.
[[nodiscard]] Result<void> make_folder(std::filesystem::path const& path);
/// Writes all of `content` to a descriptor, in several writes if necessary. Retries after EINTR.
/// Returns 0 on success, and errno otherwise.
[[nodiscard]] int write_all(int fd, std::string_view content);
/// Syncs a folder to disk, so that new and renamed files in it survive a crash.
[[nodiscard]] Result<void> sync_folder(std::filesystem::path const& folder);

/// An exclusive lock on a file. The destructor releases the lock. If the process dies, the kernel
/// releases the lock.
class FileLock {
  public:
    /// Takes the lock without waiting, and writes this process's id and host into the file. If the
    /// holder was killed while it started a child, waits up to a second for that child. Fails with
    /// `temporary` if another process holds the lock; the message contains the id and host from the
    /// file.
    [[nodiscard]] static Result<FileLock> take(std::filesystem::path const& path);

  private:
    explicit FileLock(Fd fd) : fd_(std::move(fd)) {}
    Fd fd_;
};

/// Tries the locks of the file system of `folder`. Returns a sentence for the user if they hold
/// nothing, or hold on this machine only. Returns an empty text if there is no doubt.
[[nodiscard]] std::string doubt_about_locks(std::filesystem::path const& folder);

}  // namespace curtail
