// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/core/large_memory.hpp"

namespace curtail::snapshot {

/// Returns a block of memory of this size. Its bytes may have any values.
using MakeBlock = std::function<AlignedMemory(std::size_t bytes)>;

/// How a CopyBuffer gets its memory.
struct BlockSource {
    MakeBlock make = AlignedMemory::zeros;
    /// Most bytes of a block. The system holds a lock while it pins one.
    std::size_t largest{std::size_t{512} << 20};
};

/// Memory for a copy of a rank's values, in blocks that are as large as possible.
class CopyBuffer {
  public:
    CopyBuffer() = default;
    /// Throws what `source.make` throws.
    CopyBuffer(std::size_t bytes, BlockSource const& source);
    [[nodiscard]] bool empty() const { return blocks_.empty(); }
    /// Returns `count` bytes from index `first` on, in order: one span for each block that has some
    /// of them.
    [[nodiscard]] std::vector<std::span<std::byte>> bytes(std::size_t first,
                                                          std::size_t count) const;

  private:
    std::vector<AlignedMemory> blocks_;
};

}  // namespace curtail::snapshot
