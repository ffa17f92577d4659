// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <span>

#include "base/core/files.hpp"
#include "trainer/snapshot/copy_buffer.hpp"
#include "trainer/snapshot/header.hpp"

namespace curtail::snapshot {

/// Writes one rank's files of a site's snapshots. begin() copies the values. Threads of the writer
/// hash and write the copy, while the caller changes the values.
///
/// A snapshot is whole if every rank has written its file. If writing fails or the process dies,
/// the file of this slot is damaged, and the other slot is unchanged.
class Writer {
  public:
    /// `ranges` are what this rank saves in every snapshot. No tensor may occur twice. A thread of
    /// the writer makes all blocks of the copy at once. If that fails, begin() makes them again.
    Writer(std::filesystem::path folder, std::vector<ElementRange> ranges, BlockSource blocks = {});
    ~Writer();  ///< waits for the threads
    Writer(Writer const&) = delete;
    Writer& operator=(Writer const&) = delete;

    /// Copies values of the range with this index, in the order of the constructor, to `to`: those
    /// from index `first` in the range on.
    using CopyRange =
        std::function<void(std::size_t range, std::size_t first, std::span<float> to)>;
    /// Begins to write the snapshot `place.serial`. Calls `copy` for all ranges in order; the
    /// caller may change the values when the function has returned. Fails if the file cannot be
    /// created, and writes nothing then. Throws std::logic_error if is_writing(). Throws what
    /// `copy` throws; the snapshot then fails.
    [[nodiscard]] Result<void> begin(Metadata const& metadata, Place const& place,
                                     CopyRange const& copy);
    /// Returns true from begin() until take_result() has returned a result.
    [[nodiscard]] bool is_writing() const { return done_.valid(); }
    /// Returns the result of the snapshot if it is finished within `limit`. The result is `data` if
    /// a value is not finite, and `io` if the file cannot be written. Success means that the file
    /// would survive a loss of power. Returns an empty optional if the snapshot is not finished.
    [[nodiscard]] std::optional<Result<void>> take_result(std::chrono::milliseconds limit);

  private:
    struct File {
        Fd fd;
        std::filesystem::path path;
        [[nodiscard]] Result<void> result_of(int error) const;  ///< of errno; 0 is success
    };
    [[nodiscard]] std::vector<std::span<std::byte>> values(std::size_t range) const;
    [[nodiscard]] Result<File> open(Place const& place);
    void take_buffer();
    void copy_all(CopyRange const& copy);
    void note_copied(std::size_t ranges, std::optional<std::string> abandoned);
    [[nodiscard]] Result<void> wait_for_copy(std::size_t range);
    [[nodiscard]] Result<void> write_ranges(File const& file);
    [[nodiscard]] std::vector<std::optional<Digest>> digests();
    [[nodiscard]] Result<std::vector<StoredRange>> hash_ranges();
    [[nodiscard]] Result<void> write_all(File const& file, RankHeader header);

    std::filesystem::path folder_;
    std::vector<ElementRange> ranges_;
    /// The ranges in `copy_`, one after the other. Each begins in a new block of the file. The
    /// last element is the end.
    std::vector<std::size_t> places_{0};
    BlockSource blocks_;
    std::future<CopyBuffer> made_;  ///< valid until the first begin()
    CopyBuffer copy_;
    std::vector<std::int64_t> offsets_;  ///< of the header and the ranges in the open file
    std::mutex mutex_;
    std::condition_variable copied_more_;
    std::size_t copied_{0};                 ///< number of ranges copied
    std::optional<std::string> abandoned_;  ///< why no more ranges will be copied
    std::future<Result<void>> done_;
};

}  // namespace curtail::snapshot
