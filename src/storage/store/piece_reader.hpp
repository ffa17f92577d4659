// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <array>
#include <future>
#include <span>

#include <tl/expected.hpp>

#include "base/core/large_memory.hpp"

namespace curtail::store {

/// Reads a file from its beginning to its end. Reads the next piece while the caller uses the one
/// before. Reads a large file past the page cache where the file system allows it, unless the cache
/// already has its beginning.
class PieceReader {
  public:
    /// `size` is the size of the file, which is open for reading and must stay open.
    PieceReader(int fd, off_t size);
    PieceReader(PieceReader const&) = delete;
    PieceReader& operator=(PieceReader const&) = delete;

    /// Returns the next piece, which is valid until the next call. It is empty at the end of the
    /// file. Returns errno if the system cannot read.
    [[nodiscard]] tl::expected<std::span<std::byte const>, int> next();

  private:
    struct Outcome {
        std::size_t bytes;
        int error;
    };
    [[nodiscard]] Outcome read(std::byte* to);

    int fd_;
    off_t size_;
    off_t offset_{0};  ///< of the next piece
    bool direct_;
    std::array<AlignedMemory, 2> buffers_;  ///< of the piece in use, and of the next one
    std::future<Outcome> pending_;          ///< after the buffers, because it waits
};

}  // namespace curtail::store
