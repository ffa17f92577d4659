// SPDX-License-Identifier: Apache-2.0
#pragma once

// One head of one token: the rotation by its position and the normalization after it, forward and
// backward, for a group of lanes (lanes.hpp). A lane has one pack of each half of the head, in
// registers, so that the group reads each element once. Lanes after the last pack have nothing.

#include "trainer/model/kernels/cuda/norm_rows.hpp"

namespace curtail::model {

/// The packs of one lane: the elements that a rotation combines have the same index.
template <class T>
struct HalfPacks {
    Pack<T> first, second;
};

/// The number of lanes for a head of `size` elements: 4, 8, 16 or 32.
template <class T>
constexpr int lanes_for_head(int size)
{
    int lanes = 4;
    while (2 * lanes * pack_size<T> < size) lanes *= 2;
    return lanes;
}

/// The index of a lane's first element in the first half of a head; -1 if the lane has none.
template <class T>
CURTAIL_DEVICE int first_of(int lane, int half)
{
    int const first = lane * pack_size<T>;
    return first < half ? first : -1;
}

template <class T>
CURTAIL_DEVICE HalfPacks<T> load_halves(T const* x, int half)
{
    return {load(x), load(x + half)};
}

template <class T>
CURTAIL_DEVICE void store_halves(T* x, int half, HalfPacks<T> const& packs)
{
    store(x, packs.first);
    store(x + half, packs.second);
}

/// (first, second) becomes (first c + second s, second c - first s).
template <class T>
CURTAIL_DEVICE HalfPacks<T> turned(HalfPacks<T> const& x, Pack<T> const& cos, Pack<T> const& sin)
{
    HalfPacks<T> y;
    for (int i = 0; i < pack_size<T>; ++i) {
        y.first.at[i] = x.first.at[i] * cos.at[i] + x.second.at[i] * sin.at[i];
        y.second.at[i] = x.second.at[i] * cos.at[i] - x.first.at[i] * sin.at[i];
    }
    return y;
}

/// Adds a * b over both packs.
template <class T>
CURTAIL_DEVICE SumOf<T> dot(HalfPacks<T> const& a, HalfPacks<T> const& b)
{
    SumOf<T> sum = 0;
    for (int i = 0; i < pack_size<T>; ++i)
        sum += static_cast<SumOf<T>>(a.first.at[i]) * b.first.at[i] +
               static_cast<SumOf<T>>(a.second.at[i]) * b.second.at[i];
    return sum;
}

/// Rotates a head of 2 * half elements, and then normalizes it, in place. Returns r.
template <class Group, class T>
CURTAIL_DEVICE float rotate_head(Group const& group, int half, T const* cos, T const* sin, T* head)
{
    auto packs = group.template registers<HalfPacks<T>>();
    auto const squares = group.sum([&](int lane) {
        int const first = first_of<T>(lane, half);
        if (first < 0) return SumOf<T>{0};
        packs[lane] = turned(load_halves(head + first, half), load(cos + first), load(sin + first));
        return dot(packs[lane], packs[lane]);
    });
    float const r = factor_of<T>(squares, 2 * half);
    group.each([&](int lane) {
        int const first = first_of<T>(lane, half);
        if (first < 0) return;
        auto& mine = packs[lane];
        for (int i = 0; i < pack_size<T>; ++i) {
            mine.first.at[i] *= r;
            mine.second.at[i] *= r;
        }
        store_halves(head + first, half, mine);
    });
    return r;
}

/// What a lane keeps in the backward pass of a head.
template <class T>
struct HeadRegisters {
    HalfPacks<T> dy, y;
};

/// Sets dx to the derivative of the head before rotate_head(), from that of its result y.
template <class Group, class T>
CURTAIL_DEVICE void rotate_head_backward(Group const& group, int half, T const* cos, T const* sin,
                                         T const* dy, T const* y, float r, T* dx)
{
    auto registers = group.template registers<HeadRegisters<T>>();
    auto const sums = group.sum([&](int lane) -> Sums<SumOf<T>> {
        int const first = first_of<T>(lane, half);
        if (first < 0) return {0, 0};
        auto& mine = registers[lane];
        mine = {load_halves(dy + first, half), load_halves(y + first, half)};
        return {dot(mine.dy, mine.y), dot(mine.y, mine.y)};
    });
    float const mean = along<T>(sums, 2 * half, r);
    group.each([&](int lane) {
        int const first = first_of<T>(lane, half);
        if (first < 0) return;
        auto& [d, value] = registers[lane];
        for (int i = 0; i < pack_size<T>; ++i) {
            d.first.at[i] = r * (d.first.at[i] - value.first.at[i] * mean);
            d.second.at[i] = r * (d.second.at[i] - value.second.at[i] * mean);
        }
        auto sines = load(sin + first);
        for (auto& sine : sines.at) sine = -sine;  // turns back
        store_halves(dx + first, half, turned(d, load(cos + first), sines));
    });
}

/// Head number `head` of a token's query and key heads: rotates it, normalizes it and sets its
/// factor. `qkv` and `r` are those of the first token.
template <class Group, class T>
CURTAIL_DEVICE void rotate_row(Group const& group, HeadRows<T> const& heads, int token, int head,
                               T* qkv, float* r)
{
    int const half = heads.size / 2;
    int const rotated = heads.query_heads + heads.kv_heads;
    std::int64_t const at = std::int64_t{token} * (rotated + heads.kv_heads) + head;
    int const position = token % heads.sequence * half;
    float const factor =
        rotate_head(group, half, heads.cos + position, heads.sin + position, qkv + at * heads.size);
    group.each([&](int lane) {
        if (lane == 0) r[std::int64_t{token} * rotated + head] = factor;
    });
}

/// Head number `head` of all heads of a token: sets its derivative before rotate_row(). A value
/// head is copied, because it is not rotated.
template <class Group, class T>
CURTAIL_DEVICE void rotate_backward_row(Group const& group, HeadRows<T> const& heads, int token,
                                        int head, HeadGradientRows<T> const& gradients,
                                        T const* qkv, float const* r, T* dqkv)
{
    int const half = heads.size / 2;
    int const rotated = heads.query_heads + heads.kv_heads;
    std::int64_t const wide_token = token;
    std::int64_t const at = (wide_token * (rotated + heads.kv_heads) + head) * heads.size;
    if (head >= rotated) {
        T const* const from =
            gradients.v + (wide_token * heads.kv_heads + head - rotated) * heads.size;
        group.each([&](int lane) {
            int const first = first_of<T>(lane, half);
            if (first >= 0) store_halves(dqkv + at + first, half, load_halves(from + first, half));
        });
        return;
    }
    int const position = token % heads.sequence * half;
    T const* const dy =
        head < heads.query_heads
            ? gradients.q + (wide_token * heads.query_heads + head) * heads.size
            : gradients.k + (wide_token * heads.kv_heads + head - heads.query_heads) * heads.size;
    rotate_head_backward(group, half, heads.cos + position, heads.sin + position, dy, qkv + at,
                         r[wide_token * rotated + head], dqkv + at);
}

}  // namespace curtail::model
