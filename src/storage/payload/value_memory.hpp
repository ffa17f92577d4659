// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "storage/payload/payload.hpp"

namespace curtail::payload {

/// Memory for whole models, deltas and momentum, which is used again and again: the kernel needs
/// longer to provide new memory than a processor to fill it. The kernel may take unused memory back
/// when it needs some. Copies of this object share the memory. Thread-safe.
class ValueMemory {
  public:
    /// Keeps the memory of at most `most_unused` vectors.
    explicit ValueMemory(std::size_t most_unused);
    /// Returns a vector with room for `size` values. It may have any size and any values.
    [[nodiscard]] std::vector<float> take(std::size_t size) const;
    /// Shares `values`. Their memory comes back when nobody refers to them any more.
    [[nodiscard]] Values share(std::vector<float> values) const;

  private:
    struct FreeBlock;
    std::shared_ptr<FreeBlock> unused_;
};

}  // namespace curtail::payload
