// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "snapshot/direct_file.hpp"

namespace curtail::snapshot {

/// Returns the sizes, in bytes, of the blocks for a copy of `bytes` bytes. All but the last are
/// powers of two from 16 MiB to 512 MiB, and the last is at most that large: PyTorch rounds the
/// size of pinned memory up to a power of two.
[[nodiscard]] std::vector<std::size_t> block_sizes(std::size_t bytes);

/// Memory for a copy of a rank's values, in blocks (block_sizes()).
class CopyBuffer {
  public:
    /// Returns a block of this size. Its bytes may have any values.
    using MakeBlock = std::function<AlignedBuffer(std::size_t bytes)>;
    CopyBuffer() = default;
    /// Throws what `make_block` throws.
    CopyBuffer(std::size_t bytes, MakeBlock const& make_block);
    [[nodiscard]] bool empty() const { return blocks_.empty(); }
    /// Returns `count` bytes from index `first` on, in order: one span for each block that has some
    /// of them.
    [[nodiscard]] std::vector<std::span<std::byte>> bytes(std::size_t first,
                                                          std::size_t count) const;

  private:
    std::vector<AlignedBuffer> blocks_;
};

}  // namespace curtail::snapshot
