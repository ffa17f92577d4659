// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

// The loops of a merge over one block of values. merge.cpp compiles them once for each kind of
// processor. They use plain pointers, because checks of bounds would cost more than the arithmetic.
namespace curtail::rounds::loops {

#define CURTAIL_LOOP [[gnu::always_inline]] static inline

constexpr std::size_t lanes = 8;
/// So many values of each delta are summed before the sums of squares are added up.
constexpr std::size_t block = 2048;
/// One loop reads up to so many deltas at the same time. Of more deltas, the first are summed
/// block by block before.
constexpr std::size_t most_streams = 4;

using Floats = float __attribute__((vector_size(lanes * sizeof(float))));
using Doubles = double __attribute__((vector_size(lanes * sizeof(double))));
using Integers = std::int32_t __attribute__((vector_size(lanes * sizeof(std::int32_t))));

/// What a loop reads and writes, at the place of one block. The result may lie in the same place as
/// an input, because no value depends on another index.
struct Places {
    std::array<float const*, most_streams> delta{};
    std::array<float, most_streams> scale{};
    float const* partial{};  ///< the sums of the deltas before; null: zeros
    float const* theta{};
    float const* momentum{};  ///< null: zeros
    float* result{};
    float* new_momentum{};
    float eta{};
    float mu{};
    /// Write past the caches, because nobody reads the result soon. Needs places of whole 16 bytes.
    bool past_caches{};
};

struct Found {
    std::array<double, most_streams> sumsq{};  ///< of each stream
    bool finite{true};                         ///< all results
};

enum class Step { add, average, nesterov };

CURTAIL_LOOP void load(float const* from, Floats& to) { std::memcpy(&to, from, sizeof(to)); }

// A store past the caches saves reading the line before it is written.
CURTAIL_LOOP void store(float* to, Floats const& from, bool past_caches)
{
#if defined(__x86_64__)
    if (past_caches) {
        __m128 first, second;
        std::memcpy(&first, &from, sizeof(first));
        std::memcpy(&second, reinterpret_cast<char const*>(&from) + sizeof(first), sizeof(second));
        _mm_stream_ps(to, first);
        _mm_stream_ps(to + lanes / 2, second);
        return;
    }
#else
    static_cast<void>(past_caches);
#endif
    std::memcpy(to, &from, sizeof(from));
}

// Writes of `store` past the caches become visible to other threads in order.
CURTAIL_LOOP void finish_stores()
{
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

// The processor's own prefetch stops at the end of each page.
CURTAIL_LOOP void prefetch(float const* from)
{
    constexpr std::uintptr_t ahead_bytes = 2048;
    // The address may lie behind the end of the values, where no pointer may point.
    __builtin_prefetch(
        reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(from) + ahead_bytes));
}

// The result of one vector of values. Adds the squares of stream i to `squares[i]`: value j adds to
// the lane j % 8, so that all instructions give the same bits.
template <Step step, std::size_t streams>
CURTAIL_LOOP void step_at(Places const& at, std::size_t j, Doubles* squares, Integers& infinite)
{
    Floats g{};
    if (at.partial != nullptr) load(at.partial + j, g);
    for (std::size_t i = 0; i < streams; ++i) {
        Floats d;
        load(at.delta[i] + j, d);
        g = g + at.scale[i] * d;
        Doubles const wide = __builtin_convertvector(d, Doubles);
        squares[i] += wide * wide;
    }
    Floats out = g;
    if constexpr (step != Step::add) {
        Floats theta;
        load(at.theta + j, theta);
        if constexpr (step == Step::average) out = theta - g;
        else {
            Floats m{};
            if (at.momentum != nullptr) load(at.momentum + j, m);
            m = at.mu * m + g;
            store(at.new_momentum + j, m, at.past_caches);
            out = theta - at.eta * (g + at.mu * m);
        }
    }
    // Without their sign, the bits of a float grow with its value. Infinities and NaNs are
    // greatest.
    Integers bits;
    std::memcpy(&bits, &out, sizeof(bits));
    infinite |= (bits & 0x7FFFFFFF) >= 0x7F800000;
    store(at.result + j, out, at.past_caches);
}

template <Step step, std::size_t streams>
CURTAIL_LOOP void prefetch_at(Places const& at, std::size_t j)
{
    for (std::size_t i = 0; i < streams; ++i) prefetch(at.delta[i] + j);
    if constexpr (step != Step::add) prefetch(at.theta + j);
    if constexpr (step == Step::nesterov)
        if (at.momentum != nullptr) prefetch(at.momentum + j);
}

// The last values of a block, fewer than a vector. Zeros fill it up.
template <Step step, std::size_t streams>
CURTAIL_LOOP void rest_at(Places const& places, std::size_t j, std::size_t count, Doubles* squares,
                          Integers& infinite)
{
    using Values = std::array<float, lanes>;
    auto at = places;
    std::array<Values, most_streams> deltas{};
    Values partial{}, theta{}, momentum{}, result{}, new_momentum{};
    auto const take = [&](float const*& from, Values& to) {
        if (from == nullptr) return;
        std::memcpy(to.data(), from + j, count * sizeof(float));
        from = to.data();
    };
    for (std::size_t i = 0; i < streams; ++i) take(at.delta[i], deltas[i]);
    take(at.partial, partial);
    take(at.theta, theta);
    take(at.momentum, momentum);
    at.result = result.data();
    at.new_momentum = new_momentum.data();
    at.past_caches = false;
    step_at<step, streams>(at, 0, squares, infinite);
    std::memcpy(places.result + j, result.data(), count * sizeof(float));
    if (step == Step::nesterov)
        std::memcpy(places.new_momentum + j, new_momentum.data(), count * sizeof(float));
}

// `places` is copied, because a store through a float pointer could change the argument.
template <Step step, std::size_t streams>
CURTAIL_LOOP void run(Places const& places, std::size_t count, Found& found)
{
    auto const at = places;
    std::array<Doubles, streams> squares{};
    Integers infinite{};
    constexpr std::size_t line = 16;  // a cache line of values
    std::size_t j = 0;
    for (; j + line <= count; j += line) {
        prefetch_at<step, streams>(at, j);
        step_at<step, streams>(at, j, squares.data(), infinite);
        step_at<step, streams>(at, j + lanes, squares.data(), infinite);
    }
    for (; j + lanes <= count; j += lanes) step_at<step, streams>(at, j, squares.data(), infinite);
    if (j < count) rest_at<step, streams>(at, j, count - j, squares.data(), infinite);
    if (at.past_caches) finish_stores();
    for (std::size_t i = 0; i < streams; ++i)
        for (std::size_t lane = 0; lane < lanes; ++lane) found.sumsq[i] += squares[i][lane];
    for (std::size_t lane = 0; lane < lanes; ++lane)
        found.finite = found.finite && infinite[lane] == 0;
}

#undef CURTAIL_LOOP

}  // namespace curtail::rounds::loops
