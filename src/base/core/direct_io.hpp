// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <concepts>
#include <cstddef>
#include <span>

#include "base/core/call_limits.hpp"
#include "base/core/pieces.hpp"

// Files that are read and written past the page cache. The disk then works from the first moment
// on, and other files stay in the cache.
namespace curtail {

/// Direct I/O needs memory, positions and sizes in whole blocks.
inline constexpr std::size_t direct_block_bytes = 4096;

/// Returns the least multiple of direct_block_bytes that is not less than `bytes`.
template <std::integral T>
[[nodiscard]] constexpr T in_whole_blocks(T bytes)
{
    constexpr auto block = static_cast<T>(direct_block_bytes);
    return (bytes + block - 1) / block * block;
}

/// Lets an open file go past the page cache, or through it. Returns whether the system accepts
/// that. It may still refuse direct I/O later, with EINVAL.
[[nodiscard]] bool set_direct(int fd, bool direct);

/// Writes all of `bytes` from the position `offset` on. Returns 0 on success, and errno otherwise.
[[nodiscard]] int write_at(int fd, std::span<std::byte const> bytes, off_t offset);

/// Writes all of `bytes` to an empty regular file, from its beginning. Writes large contents past
/// the page cache where the file system allows it. Does not sync the file.
///
/// Returns 0 on success, ECANCELED once `call` is over, and errno otherwise.
[[nodiscard]] int write_pieces(int fd, Pieces const& bytes, CallLimits const& call = {});

}  // namespace curtail
