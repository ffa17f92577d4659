// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "base/core/files.hpp"
#include "run/config/run.hpp"
#include "run/journal/piece.hpp"

namespace curtail::journal {

/// Returns the path of the local file that a stream publishes.
[[nodiscard]] std::filesystem::path local_file(config::Run const& run, SiteId const& site,
                                               Stream stream);

/// The largest size of a local log, in bytes: that of a published stream (ReadLimits). A larger
/// file is damaged, e.g. by a write far behind its end.
inline constexpr std::int64_t log_limit{std::int64_t{1} << 30};

/// A local file of which a writer publishes parts. The file may grow meanwhile.
class LocalFile {
  public:
    /// Opens the file. A missing file counts as empty. Fails like open_to_read()
    /// (base/core/files.hpp), and with `data` if the file is larger than log_limit.
    [[nodiscard]] static Result<LocalFile> open(std::filesystem::path const& path);
    [[nodiscard]] bool exists() const { return static_cast<bool>(fd_); }
    /// Returns the size of the file when it was opened.
    [[nodiscard]] std::int64_t size() const { return size_; }
    /// Reads the bytes of `range` that are below size(). Fails with `io`.
    [[nodiscard]] Result<std::string> read(ByteRange range) const;

  private:
    LocalFile(std::filesystem::path path, Fd fd, std::int64_t size)
        : path_(std::move(path)), fd_(std::move(fd)), size_(size)
    {
    }
    std::filesystem::path path_;
    Fd fd_;  ///< empty if the file does not exist
    std::int64_t size_{0};
};

}  // namespace curtail::journal
