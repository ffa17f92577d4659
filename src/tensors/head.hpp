// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

#include "core/json.hpp"
#include "tensors/tensor_info.hpp"

namespace curtail::tensors {

/// The head of a tensor file has a multiple of this number of bytes.
inline constexpr std::size_t head_alignment = 4096;

/// Returns the beginning of a tensor file whose elements follow one tensor after another, in the
/// order of `tensors`, without gaps. The head and the elements together are the whole file.
///
/// Encodes the format itself, so the head depends on nothing but the arguments. The form is that
/// of HDF5 1.8: superblock 2, object headers of version 2, compact links and attributes, contiguous
/// layout. Any HDF5 library reads it. There are no groups, so names must not contain '/'.
///
/// All attributes belong to the root and must be text. Throws std::invalid_argument if a tensor is
/// empty or not float32, a name is invalid or used twice, or an attribute is no text.
[[nodiscard]] std::string encode_head(std::span<TensorInfo const> tensors,
                                      json::Object const& attributes);

}  // namespace curtail::tensors
