// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/core/json.hpp"
#include "storage/tensors/tensor_info.hpp"

namespace curtail::tensors {

/// The head of a tensor file has a multiple of this number of bytes.
inline constexpr std::int64_t head_alignment = 4096;

/// The head of a tensor file: all bytes before the elements of its tensors.
struct FileHead {
    std::string bytes{};
    std::vector<std::int64_t> offsets{};  ///< where each tensor's elements begin in the file
    std::int64_t file_bytes{};            ///< where the last elements end; the size of the file
};

/// Returns the head of a tensor file. The elements of the tensors follow it in the order of
/// `tensors`. Those of each tensor begin at a multiple of `alignment` bytes, and not later than
/// necessary.
///
/// Encodes the format itself, so the head depends on nothing but the arguments. The form is that
/// of HDF5 1.8: superblock 2, object headers of version 2, compact links and attributes, contiguous
/// layout. Any HDF5 library reads it.
///
/// All attributes belong to the root: integers, floating-point numbers and texts. Throws
/// std::invalid_argument if a name or shape is invalid, a name is used twice, or an attribute has
/// another type.
[[nodiscard]] FileHead encode_head(std::span<TensorInfo const> tensors,
                                   json::Object const& attributes, std::int64_t alignment = 1);

}  // namespace curtail::tensors
