// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Named tensors in HDF5 files: weights, deltas, snapshots, token shards. Format:
/// docs/formats-tensors.md. Every function of this library may be called from any thread: calls
/// into HDF5 are serialized.
namespace curtail::tensors {

/// Element types of a file, little-endian.
enum class Dtype { float32, float64, int32, int64, uint16, uint8 };
[[nodiscard]] std::size_t size_of(Dtype dtype);  ///< bytes of one element
[[nodiscard]] char const* name_of(Dtype dtype);  ///< "float32", ...

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

inline constexpr int max_rank = 4;
using Shape = std::vector<std::int64_t>;  ///< empty: a scalar

struct TensorInfo {
    std::string name;  ///< `/` separates groups, as in `weights/lm_head.weight`
    Dtype dtype{};
    Shape shape;
    [[nodiscard]] std::int64_t elements() const;
    [[nodiscard]] std::int64_t bytes() const;
    friend bool operator==(TensorInfo const&, TensorInfo const&) = default;
};

/// True if `name` is a valid path in a tensor file: components of printable ASCII, none empty, `.`
/// or `..`; at most 255 bytes in all.
[[nodiscard]] bool is_tensor_name(std::string_view name);
/// True if `shape` has at most max_rank dimensions, none negative, and its bytes fit an int64.
[[nodiscard]] bool is_valid_shape(Shape const& shape, Dtype dtype);

}  // namespace curtail::tensors
