// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include "snapshot/direct_file.hpp"

namespace curtail::train {

/// Returns `count` elements of pinned host memory with any values. A GPU copies to and from it
/// several times as fast as other memory. PyTorch takes the next power of two of bytes. Throws
/// c10::Error if the system does not give the memory, or has no GPU.
[[nodiscard]] at::Tensor pinned_memory(std::int64_t count, at::ScalarType type);

/// Returns memory for direct I/O that is pinned if the system allows it. PyTorch does not align
/// what it pins. Throws std::bad_alloc if there is not enough memory.
[[nodiscard]] snapshot::AlignedBuffer pinned_block(std::size_t bytes);

}  // namespace curtail::train
