// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/call.hpp"
#include "core/pieces.hpp"

namespace curtail {

/// Writes all of `bytes` to an empty regular file, from its beginning. Writes large contents past
/// the page cache where the file system allows it (O_DIRECT): the disk then works from the first
/// moment on, and other files stay in the cache. Does not sync the file.
///
/// Returns 0 on success, ECANCELED once `call` is over, and errno otherwise.
[[nodiscard]] int write_pieces(int fd, Pieces const& bytes, Call const& call = {});

}  // namespace curtail
