// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "base/core/result.hpp"
#include "storage/tensors/head.hpp"

namespace curtail::tensors {

/// Creates a tensor file with this head, and replaces an existing file atomically. The elements
/// have no defined values. The file has all its disk space, so overwriting the elements cannot fail
/// for lack of space. Does nothing if the file has this head and its space already.
///
/// If `head` is aligned to direct_block_bytes, a program can overwrite each tensor in whole blocks,
/// with direct I/O: up to the next block after its last element, the file contains nothing else.
[[nodiscard]] Result<void> preallocate(std::filesystem::path const& path, FileHead const& head);

}  // namespace curtail::tensors
