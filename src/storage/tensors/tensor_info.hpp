// SPDX-License-Identifier: Apache-2.0
#pragma once

// Named tensors in HDF5 files, which store weights, deltas, snapshots and token shards
// (docs/formats-tensors.md). Different threads may call this library at the same time, because it
// serializes its calls to HDF5.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace curtail::tensors {

/// Types of the elements in a file. All are little-endian.
enum class Dtype { float32, float64, int32, int64, uint16, uint8 };
[[nodiscard]] std::size_t size_of(Dtype dtype);  ///< bytes of one element
[[nodiscard]] char const* name_of(Dtype dtype);  ///< "float32", "float64", ...

template <class T>
[[nodiscard]] constexpr Dtype dtype_of()
{
    if constexpr (std::is_same_v<T, float>) return Dtype::float32;
    else if constexpr (std::is_same_v<T, double>) return Dtype::float64;
    else if constexpr (std::is_same_v<T, std::int32_t>) return Dtype::int32;
    else if constexpr (std::is_same_v<T, std::int64_t>) return Dtype::int64;
    else if constexpr (std::is_same_v<T, std::uint16_t>) return Dtype::uint16;
    else {
        static_assert(std::is_same_v<T, std::uint8_t>, "tensor files lack this element type");
        return Dtype::uint8;
    }
}

/// The greatest number of dimensions of a tensor.
inline constexpr int max_rank = 4;
/// The length of each dimension.
using Shape = std::vector<std::int64_t>;  ///< empty for a scalar

/// A tensor's name, type and shape.
struct TensorInfo {
    std::string name;  ///< path in the file; `/` separates groups, as in `weights/lm_head.weight`
    Dtype dtype{};
    Shape shape;
    [[nodiscard]] std::int64_t elements() const;  ///< number of elements
    [[nodiscard]] std::int64_t bytes() const;     ///< size of all elements in bytes
    friend bool operator==(TensorInfo const&, TensorInfo const&) = default;
};

/// Name of an attribute of the file's root. The value of the attribute is a SHA-256 in hexadecimal.
/// It is the digest of all tensors, sorted by name. Each tensor enters the digest as its
/// content_line(), followed by its bytes.
inline constexpr char const* content_attribute = "content_sha256";
/// Returns `name dtype [d0,d1,...]` and a newline.
[[nodiscard]] std::string content_line(TensorInfo const& info);

/// Returns true if `name` may name a tensor. The name of a tensor has at most 255 bytes and
/// consists of components separated by `/`. Each component is printable ASCII without spaces, not
/// empty, and neither `.` nor `..`.
[[nodiscard]] bool is_tensor_name(std::string_view name);
/// Returns true if a tensor may have `shape`: at most max_rank dimensions, none of them negative.
/// The size of the tensor in bytes must fit into an int64.
[[nodiscard]] bool is_valid_shape(Shape const& shape, Dtype dtype);

}  // namespace curtail::tensors
