// SPDX-License-Identifier: Apache-2.0
#pragma once

// One head of one token: the rotation by its position and the normalization after it, forward and
// backward, for any group of lanes (lanes.hpp). A lane has the elements i and i + D / 2.

#include "model/kernels/cuda/norm_rows.hpp"

namespace curtail::model {

/// A pair of elements that the rotation combines.
struct Turned {
    float first, second;
};

template <class T>
CURTAIL_DEVICE Turned turned(T const* x, std::int64_t half, std::int64_t i, T const* cos,
                             T const* sin)
{
    float const first = to_float(x[i]);
    float const second = to_float(x[half + i]);
    float const c = to_float(cos[i]);
    float const s = to_float(sin[i]);
    return {first * c + second * s, second * c - first * s};
}

/// Rotates a head of 2 * half elements, and then normalizes it, in place. Returns r.
template <class Group, class T>
CURTAIL_DEVICE float rotate_head(Group const& group, std::int64_t half, T const* cos, T const* sin,
                                 T* head)
{
    auto const squares = group.sum([&](int lane) {
        SumOf<T> sum = 0;
        for (std::int64_t i = lane; i < half; i += group.lanes()) {
            auto const pair = turned(head, half, i, cos, sin);
            SumOf<T> const first = pair.first;
            SumOf<T> const second = pair.second;
            sum += first * first + second * second;
        }
        return sum;
    });
    float const r = factor_of<T>(squares, 2 * half);
    group.each([&](int lane) {
        for (std::int64_t i = lane; i < half; i += group.lanes()) {
            auto const pair = turned(head, half, i, cos, sin);
            head[i] = rounded<T>(pair.first * r);
            head[half + i] = rounded<T>(pair.second * r);
        }
    });
    return r;
}

/// Sets dx to the derivative of the head before rotate_head(), from that of its result y.
template <class Group, class T>
CURTAIL_DEVICE void rotate_head_backward(Group const& group, std::int64_t half, T const* cos,
                                         T const* sin, T const* dy, T const* y, float r, T* dx)
{
    auto const sums = group.sum([&](int lane) {
        Sums<SumOf<T>> sum{};
        for (std::int64_t i = lane; i < 2 * half; i += group.lanes()) {
            SumOf<T> const value = to_float(y[i]);
            sum = sum + Sums<SumOf<T>>{to_float(dy[i]) * value, value * value};
        }
        return sum;
    });
    float const mean = along<T>(sums, 2 * half, r);
    group.each([&](int lane) {
        for (std::int64_t i = lane; i < half; i += group.lanes()) {
            float const d1 = r * (to_float(dy[i]) - to_float(y[i]) * mean);
            float const d2 = r * (to_float(dy[half + i]) - to_float(y[half + i]) * mean);
            float const c = to_float(cos[i]);
            float const s = to_float(sin[i]);
            dx[i] = rounded<T>(d1 * c - d2 * s);
            dx[half + i] = rounded<T>(d2 * c + d1 * s);
        }
    });
}

/// Head number `head` of a token's query and key heads: rotates it, normalizes it and sets its
/// factor. `qkv` and `r` are those of the first token.
template <class Group, class T>
CURTAIL_DEVICE void rotate_row(Group const& group, HeadRows<T> const& heads, std::int64_t token,
                               std::int64_t head, T* qkv, float* r)
{
    std::int64_t const half = heads.size / 2;
    std::int64_t const rotated = heads.query_heads + heads.kv_heads;
    std::int64_t const at = token * (rotated + heads.kv_heads) + head;
    std::int64_t const position = token % heads.sequence * half;
    float const factor =
        rotate_head(group, half, heads.cos + position, heads.sin + position, qkv + at * heads.size);
    group.each([&](int lane) {
        if (lane == 0) r[token * rotated + head] = factor;
    });
}

/// Head number `head` of all heads of a token: sets its derivative before rotate_row(). A value
/// head is copied, because it is not rotated.
template <class Group, class T>
CURTAIL_DEVICE void rotate_backward_row(Group const& group, HeadRows<T> const& heads,
                                        std::int64_t token, std::int64_t head,
                                        HeadGradientRows<T> const& gradients, T const* qkv,
                                        float const* r, T* dqkv)
{
    std::int64_t const half = heads.size / 2;
    std::int64_t const rotated = heads.query_heads + heads.kv_heads;
    std::int64_t const at = (token * (rotated + heads.kv_heads) + head) * heads.size;
    if (head >= rotated) {
        T const* const from = gradients.v + (token * heads.kv_heads + head - rotated) * heads.size;
        group.each([&](int lane) {
            for (std::int64_t i = lane; i < heads.size; i += group.lanes()) dqkv[at + i] = from[i];
        });
        return;
    }
    std::int64_t const position = token % heads.sequence * half;
    T const* const dy =
        head < heads.query_heads
            ? gradients.q + (token * heads.query_heads + head) * heads.size
            : gradients.k + (token * heads.kv_heads + head - heads.query_heads) * heads.size;
    rotate_head_backward(group, half, heads.cos + position, heads.sin + position, dy, qkv + at,
                         r[token * rotated + head], dqkv + at);
}

}  // namespace curtail::model
