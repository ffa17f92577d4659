// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "run/journal/local_file.hpp"
#include "run/journal/plan.hpp"
#include "run/journal/stream_objects.hpp"

namespace curtail::journal {

/// Settings of a stream's writer.
struct WriterOptions {
    std::optional<TimeScale> clock{};  ///< the signal's clock of a replay
    /// The stream may end with pieces of another local file. The writer goes on after them only if
    /// they are this old.
    Millis takeover_after{600'000};
    std::function<Time()> now = [] { return SystemClock{}.now(); };  ///< real time
};

/// What one pass of a writer did.
struct Pass {
    std::int64_t pieces{};  ///< number of pieces that it published
    /// Whether the stream now has all complete lines that the local file had when the pass began.
    bool complete{true};
};

/// Publishes one local file as a stream.
///
/// The writer may be killed at any time; another process then goes on. No byte of the file is
/// published twice, even if two processes with the same file publish at the same time. A piece is
/// created only if its name is free. A process that finds its name taken reads that piece and
/// continues after it.
///
/// The writer remembers the newest piece in a file beside the local file. It only saves requests.
class StreamWriter {
  public:
    StreamWriter(StreamObjects objects, std::filesystem::path file, WriterOptions options);

    /// Publishes the complete lines that the stream lacks. A missing file has none.
    ///
    /// Fails with `temporary` if the outcome of a create is unknown, or if another folder has
    /// published in this stream a short time ago. Fails with `protocol` if another folder has
    /// continued the stream after this one. Returns other errors of the store and of the file. The
    /// next call goes on in any case.
    [[nodiscard]] Result<Pass> publish(CallLimits const& call);

  private:
    [[nodiscard]] bool is_up_to_date(LocalFile const& file);
    [[nodiscard]] Result<Pass> publish_lines(LocalFile const& file, CallLimits const& call);
    /// Creates the newest pieces again if the store has lost them.
    [[nodiscard]] Result<void> restore_pieces(CallLimits const& call);
    [[nodiscard]] Result<void> find_start(LocalFile const& file, CallLimits const& call);
    /// Returns whether the file still goes on after the end of the stream that the last pass found.
    [[nodiscard]] Result<bool> is_start_valid(LocalFile const& file) const;
    [[nodiscard]] Result<Start> choose_start(LocalFile const& file, StreamEnd const& end,
                                             CallLimits const& call) const;
    /// Creates the next piece of `content`. Returns false if another piece has its number.
    [[nodiscard]] Result<bool> create(std::string_view content, bool more, CallLimits const& call);
    void remember();

    StreamObjects objects_;
    std::filesystem::path file_;
    WriterOptions options_;
    std::optional<StreamEnd> end_;  ///< empty if unknown
    Start start_;                   ///< meaningful only with `end_`
    std::optional<Tip> noted_;      ///< the piece that the file beside the local file names
    PieceNumber known_;             ///< a piece that exists, as far as known
    bool has_read_note_{false};
};

}  // namespace curtail::journal
