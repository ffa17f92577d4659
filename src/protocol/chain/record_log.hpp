// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/core/digest.hpp"
#include "base/core/files.hpp"

// A file to which several processes append records: the file of a RecordCache.
namespace curtail::chain {

/// A record in the file.
struct LoggedRecord {
    std::string name;
    Digest sha256;          ///< as the file states it; nobody has compared it with the bytes
    std::int64_t offset{};  ///< of the record's bytes in the file
    std::int64_t size{};    ///< in bytes
};

/// A record to append.
struct NewRecord {
    std::string name;
    std::string bytes;
    Digest sha256;  ///< of `bytes`
};

/// The file (docs/formats-cache.md). A writer that is killed, or that runs out of space, leaves at
/// most an incomplete record at the end. Readers ignore it, and the next writer overwrites it.
class RecordLog {
  public:
    /// Opens the file. Creates it if it is missing. append() keeps it within `size_limit` bytes.
    /// Fails with `cannot_create` if the file cannot be created, or if the path names a symbolic
    /// link, pipe, socket, device or folder. Fails with `data` if the file has another format. Then
    /// nothing has changed.
    /// A new file has the rights `mode`, less the umask.
    [[nodiscard]] static Result<RecordLog> open(std::filesystem::path const& path,
                                                unsigned mode = 0600,
                                                std::int64_t size_limit = std::int64_t{1} << 30);

    /// What has changed in the file.
    struct News {
        /// A writer has emptied the file: records that were read earlier no longer exist.
        bool emptied{false};
        std::vector<LoggedRecord> records;  ///< complete records that were not read earlier
    };
    /// Reads what has changed since the last call; the first call returns all records. Fails with
    /// `io` if the file cannot be read.
    [[nodiscard]] Result<News> read_news();
    /// Appends those of `records` that no other process has appended since the last read_news().
    /// Returns the news; these include the appended records. First empties the file if it would
    /// exceed its size limit. Fails with `temporary` if another process is appending, and
    /// with `io` if the disk is full. Then the file is as before.
    [[nodiscard]] Result<News> append(std::vector<NewRecord> const& records);
    /// Removes all records. Fails with `temporary` if another process is appending.
    [[nodiscard]] Result<void> clear();
    /// Returns the bytes of a record; the caller compares their digest. Returns an empty optional
    /// if the file ends before. Thread-safe.
    [[nodiscard]] std::optional<std::string> read(LoggedRecord const& record) const;

  private:
    RecordLog(std::filesystem::path path, Fd fd, std::int64_t size_limit)
        : path_(std::move(path)), fd_(std::move(fd)), size_limit_(size_limit)
    {
    }
    /// Writes at `end_`; if that fails, removes what it wrote.
    [[nodiscard]] Result<void> write(std::string_view bytes);
    [[nodiscard]] Result<void> lock();
    [[nodiscard]] Result<void> empty();
    [[nodiscard]] Result<std::int64_t> size() const;
    [[nodiscard]] std::string piece(std::int64_t offset, std::int64_t most) const;
    [[nodiscard]] std::optional<LoggedRecord> record_at(std::int64_t offset,
                                                        std::int64_t size) const;
    [[nodiscard]] tl::unexpected<Error> failure(char const* act, int error) const;

    std::filesystem::path path_;
    Fd fd_;
    std::int64_t size_limit_;
    std::string head_;  ///< first line as it was read last; it differs after the file was emptied
    std::int64_t end_{0};  ///< end of the last complete record that was read
};

}  // namespace curtail::chain
