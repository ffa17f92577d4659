// SPDX-License-Identifier: Apache-2.0
#include "rounds/merge.hpp"

#include <algorithm>
#include <array>
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

// Calls `work` for each block with its deltas, partial sums, first index and length.
template <class Work>
void for_each_block(WeightedDeltas const& deltas, std::size_t length, Instructions instructions,
                    Work const& work)
{
    alignas(64) std::array<float, block> partial{};
    for (std::size_t first = 0; first < length; first += block) {
        auto const count = std::min(block, length - first);
        if (deltas.deltas.size() > most_streams)
            sum_first(deltas, first, count, partial.data(), instructions);
        work(last_streams(deltas, first), partial.data(), first, count);
    }
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

void average_step(std::span<float const> theta, WeightedDeltas const& deltas,
                  std::span<float> result, Instructions instructions)
{
    check(deltas, theta.size());
    same_length(theta.size(), result.size());
    for_each_block(
        deltas, theta.size(), instructions,
        [&](Streams const& streams, float const* partial, std::size_t first, std::size_t count) {
            Places const places{theta.data() + first, nullptr, result.data() + first, nullptr};
            if (instructions == Instructions::baseline)
                average_baseline(streams, partial, places, count);
            else average_avx2(streams, partial, places, count);
        });
}

void nesterov_step(OuterStep const& step, WeightedDeltas const& deltas, std::span<float> result,
                   std::span<float> momentum, Instructions instructions)
{
    check(deltas, step.theta.size());
    same_length(step.theta.size(), result.size());
    same_length(step.theta.size(), momentum.size());
    if (!step.momentum.empty()) same_length(step.theta.size(), step.momentum.size());
    for_each_block(
        deltas, result.size(), instructions,
        [&](Streams const& streams, float const* partial, std::size_t first, std::size_t count) {
            Places const places{step.theta.data() + first,
                                step.momentum.empty() ? zeros.data() : step.momentum.data() + first,
                                result.data() + first, momentum.data() + first};
            if (instructions == Instructions::baseline)
                nesterov_baseline(streams, partial, places, step.eta, step.mu, count);
            else nesterov_avx2(streams, partial, places, step.eta, step.mu, count);
        });
}

}  // namespace curtail::rounds
