// SPDX-License-Identifier: Apache-2.0

// The loops of merge_loops.hpp. CURTAIL_LOOPS is the name of the resulting table. CURTAIL_FLOATS
// and CURTAIL_DOUBLES tell how many of them a vector of the processor has: compilers make slow code
// of other vectors.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "protocol/rules/merge_loops.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace curtail::protocol::loops {
namespace {

#define CURTAIL_LOOP [[gnu::always_inline]] inline

constexpr std::size_t floats = CURTAIL_FLOATS;
constexpr std::size_t doubles = CURTAIL_DOUBLES;

using Floats = float __attribute__((vector_size(floats * sizeof(float))));
using Integers = std::int32_t __attribute__((vector_size(floats * sizeof(std::int32_t))));
using Doubles = double __attribute__((vector_size(doubles * sizeof(double))));

/// Value j of a block adds its square to the sum j % 8, so that all tables give the same bits.
constexpr std::size_t lanes = 8;
using Squares = std::array<Doubles, lanes / doubles>;

enum class Step { add, average, nesterov };

template <class Vector>
CURTAIL_LOOP Vector load(float const* from)
{
    Vector loaded;
    std::memcpy(&loaded, from, sizeof(loaded));
    return loaded;
}

CURTAIL_LOOP void store(float* to, Floats const& from) { std::memcpy(to, &from, sizeof(from)); }

// Copies values past the caches. That saves reading each line before it is written, if no other
// store comes between those of one line.
void copy_past_caches(float const* from, std::size_t count, float* to)
{
    std::size_t done = 0;
#if defined(__x86_64__)
    constexpr std::size_t line = 16;
    constexpr std::size_t quarter = line / 4;
    auto const over = reinterpret_cast<std::uintptr_t>(to) / sizeof(float) % line;
    auto const head = std::min(count, over == 0 ? 0 : line - over);
    std::memcpy(to, from, head * sizeof(float));
    for (done = head; done + line <= count; done += line)
        for (std::size_t i = 0; i < line; i += quarter)
            _mm_stream_ps(to + done + i, _mm_loadu_ps(from + done + i));
#endif
    std::memcpy(to + done, from + done, (count - done) * sizeof(float));
}

void finish_copies()
{
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

// The processor's own prefetch stops at the end of each page.
CURTAIL_LOOP void prefetch(float const* from)
{
    constexpr std::uintptr_t ahead_bytes = 1024;
    // The address may lie behind the end of the values, where no pointer may point.
    __builtin_prefetch(
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(from) + ahead_bytes));
}

// Compilers make slow code of __builtin_convertvector().
CURTAIL_LOOP Doubles widen(float const* from)
{
#if defined(__AVX512F__)
    return static_cast<Doubles>(_mm512_maskz_cvtps_pd(0xFF, load<__m256>(from)));
#elif defined(__AVX__)
    return static_cast<Doubles>(_mm256_cvtps_pd(load<__m128>(from)));
#elif defined(__x86_64__)
    return static_cast<Doubles>(
        _mm_cvtps_pd(_mm_loadl_pi(__m128{}, reinterpret_cast<__m64 const*>(from))));
#else
    using Narrow = float __attribute__((vector_size(doubles * sizeof(float))));
    return __builtin_convertvector(load<Narrow>(from), Doubles);
#endif
}

// Adds the squares of one vector of values, of which the first belongs to the lane `lane`.
CURTAIL_LOOP void add_squares(float const* from, std::size_t lane, Squares& squares)
{
#pragma GCC unroll 2
    for (std::size_t i = 0; i < floats; i += doubles) {
        auto const wide = widen(from + i);
        squares[(lane + i) / doubles] += wide * wide;
    }
}

// The result of one vector of values, of which the first belongs to the lane `lane`. Adds the
// squares of stream i to `squares[i]`.
template <Step step, std::size_t streams>
CURTAIL_LOOP void step_at(Places const& at, std::size_t j, std::size_t lane, Squares* squares,
                          Integers& infinite)
{
    Floats g{};
    if (at.partial != nullptr) g = load<Floats>(at.partial + j);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < streams; ++i) {
        g = g + at.scale[i] * load<Floats>(at.delta[i] + j);
        add_squares(at.delta[i] + j, lane, squares[i]);
    }
    Floats out = g;
    if constexpr (step != Step::add) {
        auto const theta = load<Floats>(at.theta + j);
        if constexpr (step == Step::average) out = theta - g;
        else {
            Floats m{};
            if (at.momentum != nullptr) m = load<Floats>(at.momentum + j);
            m = at.mu * m + g;
            store(at.new_momentum + j, m);
            out = theta - at.eta * (g + at.mu * m);
        }
    }
    // Without their sign, the bits of a float grow with its value. Infinities and NaNs are
    // greatest.
    Integers bits;
    std::memcpy(&bits, &out, sizeof(bits));
    infinite |= (bits & 0x7FFFFFFF) >= 0x7F800000;
    store(at.result + j, out);
}

template <Step step, std::size_t streams>
CURTAIL_LOOP void eight_at(Places const& at, std::size_t j, Squares* squares, Integers& infinite)
{
#pragma GCC unroll 2
    for (std::size_t lane = 0; lane < lanes; lane += floats)
        step_at<step, streams>(at, j + lane, lane, squares, infinite);
}

template <Step step, std::size_t streams>
CURTAIL_LOOP void prefetch_at(Places const& at, std::size_t j)
{
    for (std::size_t i = 0; i < streams; ++i) prefetch(at.delta[i] + j);
    if constexpr (step != Step::add) prefetch(at.theta + j);
    if constexpr (step == Step::nesterov)
        if (at.momentum != nullptr) prefetch(at.momentum + j);
}

// The last values of a block, fewer than eight. Zeros fill them up.
template <Step step, std::size_t streams>
CURTAIL_LOOP void rest_at(Places const& places, std::size_t j, std::size_t count, Squares* squares,
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
    eight_at<step, streams>(at, 0, squares, infinite);
    std::memcpy(places.result + j, result.data(), count * sizeof(float));
    if (step == Step::nesterov)
        std::memcpy(places.new_momentum + j, new_momentum.data(), count * sizeof(float));
}

// The indices are constants, so that compilers keep the sums in registers.
template <std::size_t... lane>
CURTAIL_LOOP double sum_of(Squares const& squares, std::index_sequence<lane...>)
{
    double sum = 0;
    ((sum += squares[lane / doubles][lane % doubles]), ...);
    return sum;
}
template <class All, std::size_t... i>
CURTAIL_LOOP void add_up(All const& squares, std::index_sequence<i...>, LoopSums& sums)
{
    ((sums.sumsq[i] += sum_of(squares[i], std::make_index_sequence<lanes>())), ...);
}

// `places` is copied, because a store through a float pointer could change the argument.
template <Step step, std::size_t streams>
void run(Places const& places, std::size_t count, LoopSums& sums)
{
    auto const at = places;
    std::array<Squares, streams> squares{};
    Integers infinite{};
    constexpr std::size_t line = 16;  // a cache line of values
    std::size_t j = 0;
    for (; j + line <= count; j += line) {
        prefetch_at<step, streams>(at, j);
        eight_at<step, streams>(at, j, squares.data(), infinite);
        eight_at<step, streams>(at, j + lanes, squares.data(), infinite);
    }
    for (; j + lanes <= count; j += lanes) eight_at<step, streams>(at, j, squares.data(), infinite);
    if (j < count) rest_at<step, streams>(at, j, count - j, squares.data(), infinite);
    add_up(squares, std::make_index_sequence<streams>(), sums);
    for (std::size_t i = 0; i < floats; ++i) sums.finite = sums.finite && infinite[i] == 0;
}

template <Step step>
constexpr LoopTable::Loops loops_of{run<step, 0>, run<step, 1>, run<step, 2>, run<step, 3>,
                                    run<step, 4>};

#undef CURTAIL_LOOP

}  // namespace

LoopTable const CURTAIL_LOOPS{loops_of<Step::add>, loops_of<Step::average>,
                              loops_of<Step::nesterov>, copy_past_caches, finish_copies};

}  // namespace curtail::protocol::loops
