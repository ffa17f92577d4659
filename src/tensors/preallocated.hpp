// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <span>

#include "core/json.hpp"
#include "core/result.hpp"
#include "tensors/tensor_info.hpp"

namespace curtail::tensors {

/// In a preallocated file, each tensor begins at a multiple of this number of bytes. Up to the next
/// multiple after its last element, the file contains nothing else. A program can therefore
/// overwrite the elements with direct I/O.
inline constexpr std::int64_t block_bytes = 4096;

/// Returns the least multiple of block_bytes that is not less than `bytes`.
[[nodiscard]] constexpr std::int64_t in_whole_blocks(std::int64_t bytes)
{
    return (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

/// Creates a tensor file with these tensors and attributes of the root (see
/// TensorWriter::attribute), and replaces an existing file atomically. The elements have no defined
/// values. The file has all its disk space, so overwriting the elements cannot fail for lack of
/// space. TensorReader::offset() tells where they are. No tensor may be empty.
[[nodiscard]] Result<void> create_preallocated(std::filesystem::path const& path,
                                               std::span<TensorInfo const> tensors,
                                               json::Object const& attributes);

}  // namespace curtail::tensors
