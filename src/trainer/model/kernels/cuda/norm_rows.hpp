// SPDX-License-Identifier: Apache-2.0
#pragma once

// One row of the normalization and of the residual mix, forward and backward, for any group of
// lanes (lanes.hpp). r is the factor 1 / sqrt(mean(x^2) + eps).

#include "trainer/model/kernels/cuda/arguments.hpp"
#include "trainer/model/kernels/cuda/lanes.hpp"

namespace curtail::model {

template <class T>
CURTAIL_DEVICE float factor_of(SumOf<T> squares, int width)
{
    SumOf<T> const mean = PrecisionTraits<T>::ratio(squares, static_cast<SumOf<T>>(width)) +
                          PrecisionTraits<T>::epsilon;
    return PrecisionTraits<T>::inverse_root(mean);
}

template <class Group, class T>
CURTAIL_DEVICE SumOf<T> sum_of_squares(Group const& group, int width, T const* x)
{
    return group.sum([&](int lane) {
        SumOf<T> sum = 0;
        for_packs<T>(width, lane, group.lanes(), [&](int first) {
            auto const pack = load(x + first);
            for (SumOf<T> const value : pack.at) sum += value * value;
        });
        return sum;
    });
}

/// y = x r. Returns r.
template <class Group, class T>
CURTAIL_DEVICE float normalize_row(Group const& group, int width, T const* x, T* y)
{
    float const r = factor_of<T>(sum_of_squares(group, width, x), width);
    group.each([&](int lane) {
        for_packs<T>(width, lane, group.lanes(), [&](int first) {
            auto pack = load(x + first);
            for (auto& element : pack.at) element *= r;
            store(y + first, pack);
        });
    });
    return r;
}

/// The part of dy along y = x r, which the derivative of x does not have: sum(dy y) / n in exact
/// arithmetic. The divisor makes up for the rounding of y and r.
template <class T>
CURTAIL_DEVICE float along(Sums<SumOf<T>> of_products_and_squares, int width, float r)
{
    SumOf<T> const wide_r = r;
    SumOf<T> const eps =
        PrecisionTraits<T>::epsilon * static_cast<SumOf<T>>(width) * wide_r * wide_r;
    return static_cast<float>(PrecisionTraits<T>::ratio(of_products_and_squares.first,
                                                        of_products_and_squares.second + eps));
}

template <class Group, class T>
CURTAIL_DEVICE float along_row(Group const& group, int width, T const* dy, T const* y, float r)
{
    auto const sums = group.sum([&](int lane) {
        Sums<SumOf<T>> sum{};
        for_packs<T>(width, lane, group.lanes(), [&](int first) {
            auto const dys = load(dy + first);
            auto const ys = load(y + first);
            for (int i = 0; i < pack_size<T>; ++i) {
                SumOf<T> const value = ys.at[i];
                sum = sum + Sums<SumOf<T>>{dys.at[i] * value, value * value};
            }
        });
        return sum;
    });
    return along<T>(sums, width, r);
}

/// dx = r (dy - y mean(dy y)), in float32.
template <class Group, class T>
CURTAIL_DEVICE void embed_backward_row(Group const& group, int width, T const* dy, T const* y,
                                       float r, float* dx)
{
    float const mean = along_row(group, width, dy, y, r);
    group.each([&](int lane) {
        for_packs<T>(width, lane, group.lanes(), [&](int first) {
            auto const dys = load(dy + first);
            auto const ys = load(y + first);
            for (int i = 0; i < pack_size<T>; i += pack_size<float>) {
                Pack<float> d;
                for (int j = 0; j < pack_size<float>; ++j)
                    d.at[j] = r * (dys.at[i + j] - ys.at[i + j] * mean);
                store(dx + first + i, d);
            }
        });
    });
}

/// dx += r (dy - y mean(dy y)).
template <class Group, class T>
CURTAIL_DEVICE void normalize_backward_row(Group const& group, int width, T const* dy, T const* y,
                                           float r, T* dx)
{
    float const mean = along_row(group, width, dy, y, r);
    group.each([&](int lane) {
        for_packs<T>(width, lane, group.lanes(), [&](int first) {
            auto const dys = load(dy + first);
            auto const ys = load(y + first);
            auto sums = load(dx + first);
            for (int i = 0; i < pack_size<T>; ++i) {
                sums.at[i] += r * (dys.at[i] - ys.at[i] * mean);
            }
            store(dx + first, sums);
        });
    });
}

/// mixed = a x + b x0, then y = mixed r. Returns r. The pointers of `in` are those of the row.
template <class Group, class T>
CURTAIL_DEVICE float mix_row(Group const& group, int width, MixRows<T> const& in, T* mixed, T* y)
{
    float const a = *in.a;
    float const b = *in.b;
    group.each([&](int lane) {
        for_packs<T>(width, lane, group.lanes(), [&](int first) {
            auto sums = load(in.x + first);
            auto const x0 = load(in.x0 + first);
            for (int i = 0; i < pack_size<T>; ++i) sums.at[i] = a * sums.at[i] + b * x0.at[i];
            store(mixed + first, sums);
        });
    });
    return normalize_row(group, width, mixed, y);  // each lane reads what it wrote
}

/// The derivatives of a mix. On entry dx is the derivative of the mix, and on return that of x.
/// Adds that of x0 to dx0. Returns the row's shares of the derivatives of a and b.
template <class Group, class T>
CURTAIL_DEVICE Sums<double> mix_backward_row(Group const& group, int width, MixRows<T> const& in,
                                             T const* dy, T const* y, float r, T* dx, T* dx0)
{
    float const a = *in.a;
    float const b = *in.b;
    float const mean = along_row(group, width, dy, y, r);
    return group.sum([&](int lane) {
        Sums<double> sum{};
        for_packs<T>(width, lane, group.lanes(), [&](int first) {
            auto const dys = load(dy + first);
            auto const ys = load(y + first);
            auto const x = load(in.x + first);
            auto const x0 = load(in.x0 + first);
            auto dxs = load(dx + first);
            auto dx0s = load(dx0 + first);
            Sums<SumOf<T>> of_pack{};
            for (int i = 0; i < pack_size<T>; ++i) {
                float const d = dxs.at[i] + r * (dys.at[i] - ys.at[i] * mean);
                SumOf<T> const wide = d;
                of_pack = of_pack + Sums<SumOf<T>>{wide * x.at[i], wide * x0.at[i]};
                dx0s.at[i] += b * d;
                dxs.at[i] = a * d;
            }
            sum = sum + Sums<double>{of_pack.first, of_pack.second};
            store(dx + first, dxs);
            store(dx0 + first, dx0s);
        });
        return sum;
    });
}

}  // namespace curtail::model
