// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the code of the CUDA kernels (*_rows.hpp) is written in, private to this folder. A group of
// lanes works on one row: the lanes share its elements, and add up their shares. nvcc compiles this
// code for the threads of a block or of a warp. A C++ compiler compiles the same code for the test
// model_cuda_rows, in which one thread runs all lanes of a group in turn.

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define CURTAIL_DEVICE __device__ __forceinline__
#else
#define CURTAIL_DEVICE inline
#endif

namespace curtail::model {

/// A bfloat16 number: the upper half of a float.
struct Bf16 {
    std::uint16_t bits;
};

CURTAIL_DEVICE float to_float(float x) { return x; }
CURTAIL_DEVICE float to_float(Bf16 x)
{
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16);
}

/// Rounds to the nearest number of type T, and to the even one of two. Keeps NaN.
template <class T>
CURTAIL_DEVICE T rounded(float x);
template <>
CURTAIL_DEVICE float rounded(float x)
{
    return x;
}
template <>
CURTAIL_DEVICE Bf16 rounded(float x)
{
    auto const bits = __builtin_bit_cast(std::uint32_t, x);
    if (x != x) return {0x7fc0};
    return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

/// The type of sums over elements of type T, and the epsilon of a normalization (kernels.hpp).
template <class T>
struct Precision;
template <>
struct Precision<float> {
    using Sum = double;  // as in cpu_rows.inl
    static constexpr double epsilon = 0x1p-23;
};
template <>
struct Precision<Bf16> {
    using Sum = float;
    static constexpr float epsilon = 0x1p-23F;
};
template <class T>
using SumOf = typename Precision<T>::Sum;

/// Two sums that are made together.
template <class S>
struct Sums {
    S first, second;
};
template <class S>
CURTAIL_DEVICE Sums<S> operator+(Sums<S> a, Sums<S> b)
{
    return {a.first + b.first, a.second + b.second};
}

/// The elements that a lane reads or writes with one instruction: 16 bytes.
template <class T>
struct alignas(16) Pack {
    static constexpr int size = 16 / sizeof(T);
    T at[size];
};

template <class T>
CURTAIL_DEVICE Pack<T> load(T const* from)
{
    return *reinterpret_cast<Pack<T> const*>(from);
}
template <class T>
CURTAIL_DEVICE void store(T* to, Pack<T> const& pack)
{
    *reinterpret_cast<Pack<T>*>(to) = pack;
}

/// Calls body(first element) for each pack of a row that belongs to `lane` of `lanes`. The width of
/// the row must be a multiple of the pack's size.
template <class T, class Body>
CURTAIL_DEVICE void for_packs(std::int64_t width, int lane, int lanes, Body const& body)
{
    constexpr std::int64_t size = Pack<T>::size;
    for (std::int64_t i = lane * size; i < width; i += lanes * size) body(i);
}

// A group has three functions:
//   lanes()      the number of lanes
//   each(body)   calls body(lane) for each lane
//   sum(share)   returns the sum of share(lane) over all lanes, to all lanes. No lane returns from
//                it before all have computed their shares.
// The lanes of a group run in any order between two sums. A lane must not read in one each() what
// another lane wrote in the same or in an earlier one, unless a sum lies between them.

}  // namespace curtail::model
