// SPDX-License-Identifier: Apache-2.0
#include "rounds/merge.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace curtail::rounds {
namespace {

void same_length(std::size_t a, std::size_t b)
{
    if (a != b) throw std::logic_error("a merge needs spans of equal length");
}

void check(WeightedDeltas const& deltas, std::size_t length)
{
    same_length(deltas.deltas.size(), deltas.scale.size());
    for (auto const& delta : deltas.deltas) same_length(delta.size(), length);
}

// One loop reads up to so many deltas at the same time, and the model. Of more deltas, the first
// are summed block by block before.
constexpr std::size_t most_streams = 4;
// So many partial sums stay in the first cache.
constexpr std::size_t block = 2048;
constexpr std::array<float, block> zeros{};

// The last deltas of a merge, at the place of one block. The others have the scale 0 and read
// zeros. They come first, so they change no bit of a sum that begins with +0.
struct Streams {
    std::array<float const*, most_streams> delta;
    std::array<float, most_streams> scale;
};

// What an outer step reads and writes, at the place of one block.
struct Places {
    float const* theta;
    float const* momentum;
    float* result;
    float* new_momentum;
};

// The loops use plain pointers, because checks of bounds would prevent vector instructions. The
// result may lie in the same place as an input, but no value depends on another index (ivdep). Each
// loop is compiled once for every processor and once for those with AVX2.
#define CURTAIL_LOOP [[gnu::always_inline]] inline

CURTAIL_LOOP void add_loop(float const* delta, float scale, float* g, std::size_t count)
{
#pragma GCC ivdep
    for (std::size_t j = 0; j < count; ++j) g[j] = g[j] + scale * delta[j];
}

CURTAIL_LOOP float sum_at(Streams const& s, float g, std::size_t j)
{
    g = g + s.scale[0] * s.delta[0][j];
    g = g + s.scale[1] * s.delta[1][j];
    g = g + s.scale[2] * s.delta[2][j];
    return g + s.scale[3] * s.delta[3][j];
}

CURTAIL_LOOP void average_loop(Streams const& streams, float const* partial, Places const& places,
                               std::size_t count)
{
    auto const s = streams;
    auto const at = places;
#pragma GCC ivdep
    for (std::size_t j = 0; j < count; ++j) at.result[j] = at.theta[j] - sum_at(s, partial[j], j);
}

CURTAIL_LOOP void nesterov_loop(Streams const& streams, float const* partial, Places const& places,
                                float eta, float mu, std::size_t count)
{
    auto const s = streams;
    auto const at = places;
#pragma GCC ivdep
    for (std::size_t j = 0; j < count; ++j) {
        float const g = sum_at(s, partial[j], j);
        float const m = mu * at.momentum[j] + g;
        at.new_momentum[j] = m;
        at.result[j] = at.theta[j] - eta * (g + mu * m);
    }
}

// Several partial sums, so that the compiler can use vector instructions. Their number and order
// are fixed, so all instructions give the same bits.
CURTAIL_LOOP double squares_loop(float const* values, std::size_t count)
{
    constexpr std::size_t lanes = 8;
    std::array<double, lanes> sums{};
    std::size_t j = 0;
    for (; j + lanes <= count; j += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            double const value = values[j + lane];
            sums[lane] += value * value;
        }
    for (; j < count; ++j) sums[0] += double{values[j]} * double{values[j]};
    double sum = 0;
    for (double const part : sums) sum += part;
    return sum;
}

// Without their sign, the bits of a float grow with its value. Infinities and NaNs are greatest.
CURTAIL_LOOP bool finite_loop(float const* values, std::size_t count)
{
    constexpr std::int32_t without_sign = 0x7FFFFFFF;
    constexpr std::int32_t infinity = 0x7F800000;
    std::int32_t greatest = 0;
    for (std::size_t j = 0; j < count; ++j)
        greatest = std::max(greatest, std::bit_cast<std::int32_t>(values[j]) & without_sign);
    return greatest < infinity;
}

#if defined(__x86_64__)
#define CURTAIL_AVX2 [[gnu::target("avx2")]]
#else
#define CURTAIL_AVX2
#endif

void add_baseline(float const* delta, float scale, float* g, std::size_t count)
{
    add_loop(delta, scale, g, count);
}
CURTAIL_AVX2 void add_avx2(float const* delta, float scale, float* g, std::size_t count)
{
    add_loop(delta, scale, g, count);
}
void average_baseline(Streams const& streams, float const* partial, Places const& places,
                      std::size_t count)
{
    average_loop(streams, partial, places, count);
}
CURTAIL_AVX2 void average_avx2(Streams const& streams, float const* partial, Places const& places,
                               std::size_t count)
{
    average_loop(streams, partial, places, count);
}
void nesterov_baseline(Streams const& streams, float const* partial, Places const& places,
                       float eta, float mu, std::size_t count)
{
    nesterov_loop(streams, partial, places, eta, mu, count);
}
CURTAIL_AVX2 void nesterov_avx2(Streams const& streams, float const* partial, Places const& places,
                                float eta, float mu, std::size_t count)
{
    nesterov_loop(streams, partial, places, eta, mu, count);
}
double squares_baseline(float const* values, std::size_t count)
{
    return squares_loop(values, count);
}
CURTAIL_AVX2 double squares_avx2(float const* values, std::size_t count)
{
    return squares_loop(values, count);
}
bool finite_baseline(float const* values, std::size_t count) { return finite_loop(values, count); }
CURTAIL_AVX2 bool finite_avx2(float const* values, std::size_t count)
{
    return finite_loop(values, count);
}

#undef CURTAIL_AVX2
#undef CURTAIL_LOOP

// Sums all deltas but the last `most_streams` into `g`.
void sum_first(WeightedDeltas const& deltas, std::size_t first, std::size_t count, float* g,
               Instructions instructions)
{
    std::fill(g, g + count, 0.0F);
    for (std::size_t i = 0; i + most_streams < deltas.deltas.size(); ++i) {
        auto const* const delta = deltas.deltas[i].data() + first;
        if (instructions == Instructions::baseline) add_baseline(delta, deltas.scale[i], g, count);
        else add_avx2(delta, deltas.scale[i], g, count);
    }
}

Streams last_streams(WeightedDeltas const& deltas, std::size_t first)
{
    Streams streams{};
    streams.delta.fill(zeros.data());
    auto const used = std::min(most_streams, deltas.deltas.size());
    for (std::size_t i = 1; i <= used; ++i) {
        auto const from = deltas.deltas.size() - i;
        streams.delta[most_streams - i] = deltas.deltas[from].data() + first;
        streams.scale[most_streams - i] = deltas.scale[from];
    }
    return streams;
}

// Adds what one block shows. The block's values are still in the caches.
void check_block(WeightedDeltas const& deltas, std::span<float const> result,
                 Instructions instructions, std::size_t first, MergeFindings& findings)
{
    bool const baseline = instructions == Instructions::baseline;
    for (std::size_t i = 0; i < deltas.deltas.size(); ++i) {
        auto const* const values = deltas.deltas[i].data() + first;
        findings.sumsq[i] += baseline ? squares_baseline(values, result.size())
                                      : squares_avx2(values, result.size());
    }
    bool const finite = baseline ? finite_baseline(result.data(), result.size())
                                 : finite_avx2(result.data(), result.size());
    findings.finite = findings.finite && finite;
}

// Calls `work` for each block of `result` with its deltas, partial sums, first index and length.
// Then checks the block.
template <class Work>
MergeFindings for_each_block(WeightedDeltas const& deltas, std::span<float const> result,
                             Instructions instructions, Work const& work)
{
    MergeFindings findings{std::vector<double>(deltas.deltas.size()), true};
    auto const length = result.size();
    alignas(64) std::array<float, block> partial{};
    for (std::size_t first = 0; first < length; first += block) {
        auto const count = std::min(block, length - first);
        if (deltas.deltas.size() > most_streams)
            sum_first(deltas, first, count, partial.data(), instructions);
        work(last_streams(deltas, first), partial.data(), first, count);
        check_block(deltas, result.subspan(first, count), instructions, first, findings);
    }
    return findings;
}

}  // namespace

std::vector<float> scales(std::span<Weighed const> included, std::int64_t discount_permille)
{
    double sum = 0;
    for (auto const& c : included) sum += static_cast<double>(c.tokens);
    std::vector<float> out;
    double const discount = static_cast<double>(discount_permille) / 1000;
    for (auto const& c : included) {
        auto const weight =
            static_cast<double>(c.tokens) / (1 + discount * static_cast<double>(c.staleness));
        out.push_back(sum > 0 ? static_cast<float>(weight / sum) : 0.0F);
    }
    return out;
}

Instructions fastest_instructions()
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") != 0) return Instructions::avx2;
#endif
    return Instructions::baseline;
}

MergeFindings average_step(std::span<float const> theta, WeightedDeltas const& deltas,
                           std::span<float> result, Instructions instructions)
{
    check(deltas, theta.size());
    same_length(theta.size(), result.size());
    return for_each_block(
        deltas, result, instructions,
        [&](Streams const& streams, float const* partial, std::size_t first, std::size_t count) {
            Places const places{theta.data() + first, nullptr, result.data() + first, nullptr};
            if (instructions == Instructions::baseline)
                average_baseline(streams, partial, places, count);
            else average_avx2(streams, partial, places, count);
        });
}

MergeFindings nesterov_step(OuterStep const& step, WeightedDeltas const& deltas,
                            std::span<float> result, std::span<float> momentum,
                            Instructions instructions)
{
    check(deltas, step.theta.size());
    same_length(step.theta.size(), result.size());
    same_length(step.theta.size(), momentum.size());
    if (!step.momentum.empty()) same_length(step.theta.size(), step.momentum.size());
    return for_each_block(
        deltas, result, instructions,
        [&](Streams const& streams, float const* partial, std::size_t first, std::size_t count) {
            Places const places{step.theta.data() + first,
                                step.momentum.empty() ? zeros.data() : step.momentum.data() + first,
                                result.data() + first, momentum.data() + first};
            if (instructions == Instructions::baseline)
                nesterov_baseline(streams, partial, places, step.eta, step.mu, count);
            else nesterov_avx2(streams, partial, places, step.eta, step.mu, count);
        });
}

bool is_same_sumsq(double recomputed, double announced)
{
    constexpr double tolerance = 1e-6;
    return std::abs(recomputed - announced) <= tolerance * std::max(recomputed, announced);
}

std::size_t greatest_at_fault(WeightedDeltas const& deltas, std::span<float const> result)
{
    auto const bad = std::find_if_not(result.begin(), result.end(),
                                      [](float value) { return std::isfinite(value); });
    if (bad == result.end()) throw std::logic_error("all values of the merge are finite");
    auto const j = static_cast<std::size_t>(bad - result.begin());
    std::size_t greatest = 0;
    double most = -1;
    for (std::size_t i = 0; i < deltas.deltas.size(); ++i) {
        double const size = std::abs(double{deltas.scale[i]} * double{deltas.deltas[i][j]});
        if (size > most) greatest = i;
        most = std::max(most, size);
    }
    return greatest;
}

}  // namespace curtail::rounds
