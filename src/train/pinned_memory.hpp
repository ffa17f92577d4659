// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include "snapshot/direct_file.hpp"

namespace curtail::train {

/// Returns `count` elements of pinned host memory with any values. A GPU copies to and from it
/// several times as fast as other memory. PyTorch takes the next power of two of bytes. Throws
/// c10::Error if the system does not give the memory, or has no GPU.
[[nodiscard]] at::Tensor pinned_memory(std::int64_t count, at::ScalarType type);

/// Returns the bytes of `memory` as memory for direct I/O. Returns other memory of this size if the
/// allocator does not align its memory to pages.
[[nodiscard]] snapshot::AlignedBuffer for_direct_io(at::Tensor const& memory);

}  // namespace curtail::train
