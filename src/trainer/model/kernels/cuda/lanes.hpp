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

/// Rounds to the nearest bfloat16, and to the even one of two. Keeps NaN.
CURTAIL_DEVICE Bf16 to_bf16(float x)
{
    auto const bits = __builtin_bit_cast(std::uint32_t, x);
    if (x != x) return {0x7fc0};
    return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

/// The type of sums over elements of type T, the epsilon of a normalization (kernels.hpp), and
/// functions that are precise enough for results of type T.
template <class T>
struct PrecisionTraits;
template <>
struct PrecisionTraits<float> {
    using Sum = double;  // as in cpu_rows.inl
    static constexpr double epsilon = 0x1p-23;
    CURTAIL_DEVICE static float power_of_2(float x) { return exp2f(x); }
    CURTAIL_DEVICE static float inverse(float x) { return 1 / x; }
    CURTAIL_DEVICE static float root(float x) { return sqrtf(x); }
    CURTAIL_DEVICE static float inverse_root(double x) { return static_cast<float>(1 / sqrt(x)); }
    CURTAIL_DEVICE static double ratio(double a, double b) { return a / b; }
};
// On a GPU, each of these functions is one instruction with an error of about 2^-22, which a result
// of bfloat16 does not show. (A slow path for denormal numbers would add four.)
template <>
struct PrecisionTraits<Bf16> {
    using Sum = float;
    static constexpr float epsilon = 0x1p-23F;
#ifdef __CUDA_ARCH__
    CURTAIL_DEVICE static float power_of_2(float x)
    {
        float y;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
    }
    CURTAIL_DEVICE static float inverse(float x)
    {
        float y;
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
    }
    CURTAIL_DEVICE static float root(float x)
    {
        float y;
        asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
    }
    CURTAIL_DEVICE static float inverse_root(float x)
    {
        float y;
        asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
    }
#else
    static float power_of_2(float x) { return exp2f(x); }
    static float inverse(float x) { return 1 / x; }
    static float root(float x) { return sqrtf(x); }
    static float inverse_root(float x) { return 1 / sqrtf(x); }
#endif
    CURTAIL_DEVICE static float ratio(float a, float b) { return a * inverse(b); }
};
template <class T>
using SumOf = typename PrecisionTraits<T>::Sum;

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

/// The number of elements that a lane reads or writes with one instruction of 16 bytes.
template <class T>
constexpr int pack_size = 16 / sizeof(T);

/// The elements of a pack, as float32.
template <class T>
struct Pack {
    float at[pack_size<T>];
};

CURTAIL_DEVICE Pack<float> load(float const* from)
{
    struct alignas(16) Stored {
        float at[4];
    } const stored = *reinterpret_cast<Stored const*>(from);
    return {stored.at[0], stored.at[1], stored.at[2], stored.at[3]};
}
CURTAIL_DEVICE Pack<Bf16> load(Bf16 const* from)
{
    struct alignas(16) Stored {
        std::uint32_t pairs[4];
    } const stored = *reinterpret_cast<Stored const*>(from);
    Pack<Bf16> pack;
    for (int i = 0; i < 8; i += 2) {
        pack.at[i] = __builtin_bit_cast(float, stored.pairs[i / 2] << 16);
        pack.at[i + 1] = __builtin_bit_cast(float, stored.pairs[i / 2] & 0xffff0000U);
    }
    return pack;
}

/// Rounds two numbers to bfloat16, the first to the lower half.
CURTAIL_DEVICE std::uint32_t rounded_pair(float first, float second)
{
#ifdef __CUDA_ARCH__
    std::uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    return pair;
#else
    return to_bf16(first).bits | std::uint32_t{to_bf16(second).bits} << 16;
#endif
}

CURTAIL_DEVICE void store(float* to, Pack<float> const& pack)
{
    struct alignas(16) Stored {
        float at[4];
    };
    *reinterpret_cast<Stored*>(to) = {pack.at[0], pack.at[1], pack.at[2], pack.at[3]};
}
CURTAIL_DEVICE void store(Bf16* to, Pack<Bf16> const& pack)
{
    struct alignas(16) Stored {
        std::uint32_t pairs[4];
    };
    *reinterpret_cast<Stored*>(to) = {
        rounded_pair(pack.at[0], pack.at[1]), rounded_pair(pack.at[2], pack.at[3]),
        rounded_pair(pack.at[4], pack.at[5]), rounded_pair(pack.at[6], pack.at[7])};
}

/// Calls body(first element) for each pack of a row that belongs to `lane` of `lanes`. The width of
/// the row must be a multiple of the pack's size.
template <class T, class Body>
CURTAIL_DEVICE void for_packs(int width, int lane, int lanes, Body const& body)
{
    for (int i = lane * pack_size<T>; i < width; i += lanes * pack_size<T>) body(i);
}

// A group has these functions:
//   lanes()         the number of lanes
//   each(body)      calls body(lane) for each lane
//   registers<S>()  returns an S for each lane, as x[lane]: what a lane keeps from one call to the
//                   next. Only groups for heads have it.
//   sum(share)      returns the sum of share(lane) over all lanes, to all lanes. No lane returns
//                   from it before all have computed their shares.
// The lanes of a group run in any order between two sums. A lane must not read in one each() what
// another lane wrote in the same or in an earlier one, unless a sum lies between them.

}  // namespace curtail::model
