// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace curtail {

/// Direct I/O needs memory, positions and sizes in whole blocks.
inline constexpr std::size_t direct_block_bytes = 4096;

/// Frees what aligned_memory() returns.
struct FreeMemory {
    void operator()(std::byte* memory) const { std::free(memory); }
};
using AlignedMemory = std::unique_ptr<std::byte, FreeMemory>;
/// Returns memory for direct I/O, without values. Throws std::bad_alloc if there is not enough.
[[nodiscard]] AlignedMemory aligned_memory(std::size_t bytes);

/// Lets an open file go past the page cache, or through it. Returns whether the system accepts
/// that. It may still refuse direct I/O later, with EINVAL.
[[nodiscard]] bool set_direct(int fd, bool direct);

}  // namespace curtail
