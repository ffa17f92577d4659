// SPDX-License-Identifier: Apache-2.0
#include "rounds/merge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>

#include "rounds/merge_loops.hpp"

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

using loops::Found;
using loops::Places;
using loops::Step;
using Loop = void (*)(Places const&, std::size_t, Found&);

#if defined(__x86_64__)
#define CURTAIL_AVX2 [[gnu::target("avx2")]]
#define CURTAIL_AVX512 [[gnu::target("avx512f,avx512dq,avx512vl")]]
#else
#define CURTAIL_AVX2
#define CURTAIL_AVX512
#endif

template <Step step, std::size_t streams>
void run_baseline(Places const& places, std::size_t count, Found& found)
{
    loops::run<step, streams>(places, count, found);
}
template <Step step, std::size_t streams>
CURTAIL_AVX2 void run_avx2(Places const& places, std::size_t count, Found& found)
{
    loops::run<step, streams>(places, count, found);
}
template <Step step, std::size_t streams>
CURTAIL_AVX512 void run_avx512(Places const& places, std::size_t count, Found& found)
{
    loops::run<step, streams>(places, count, found);
}

#undef CURTAIL_AVX2
#undef CURTAIL_AVX512

template <Step step, std::size_t streams>
Loop loop_with(Instructions instructions)
{
    switch (instructions) {
        case Instructions::baseline:
            return run_baseline<step, streams>;
        case Instructions::avx2:
            return run_avx2<step, streams>;
        case Instructions::avx512:
            return run_avx512<step, streams>;
    }
    throw std::logic_error("unknown instructions");
}

// The loop that reads so many deltas at the same time.
template <Step step>
Loop loop_of(std::size_t streams, Instructions instructions)
{
    switch (streams) {
        case 0:
            return loop_with<step, 0>(instructions);
        case 1:
            return loop_with<step, 1>(instructions);
        case 2:
            return loop_with<step, 2>(instructions);
        case 3:
            return loop_with<step, 3>(instructions);
        case loops::most_streams:
            return loop_with<step, loops::most_streams>(instructions);
        default:
            throw std::logic_error("too many deltas for one loop");
    }
}

// Whether stores past the caches may write there, and are of use: not if the result replaces an
// input, which is in the caches, or if it is so small that it stays there.
bool is_better_past_caches(std::span<float const> input, std::span<float> result)
{
    constexpr std::size_t small = std::size_t{1} << 20;
    constexpr std::uintptr_t alignment = 16;
    return input.data() != result.data() && result.size() > small &&
           reinterpret_cast<std::uintptr_t>(result.data()) % alignment == 0;
}

// Lets `loop` read `count` deltas from number `from` on.
void attach(Places& places, WeightedDeltas const& deltas, std::size_t from, std::size_t count,
            std::size_t first)
{
    for (std::size_t i = 0; i < count; ++i) {
        places.delta[i] = deltas.deltas[from + i].data() + first;
        places.scale[i] = deltas.scale[from + i];
    }
}

void add_findings(MergeFindings& findings, Found const& found, std::size_t from, std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i) findings.sumsq[from + i] += found.sumsq[i];
}

// Takes the step `step` block by block. `places_at` returns the places of the block with that first
// index, without its deltas.
template <Step step, class PlacesAt>
MergeFindings for_each_block(WeightedDeltas const& deltas, std::size_t length,
                             Instructions instructions, PlacesAt const& places_at)
{
    auto const all = deltas.deltas.size();
    auto const last = std::min(all, loops::most_streams);
    auto const add = loop_of<Step::add>(1, instructions);
    auto const take_step = loop_of<step>(last, instructions);
    MergeFindings findings{std::vector<double>(all), true};
    alignas(64) std::array<float, loops::block> partial{};
    for (std::size_t first = 0; first < length; first += loops::block) {
        auto const count = std::min(loops::block, length - first);
        for (std::size_t i = 0; i + last < all; ++i) {
            Places places;
            Found found;
            attach(places, deltas, i, 1, first);
            if (i > 0) places.partial = partial.data();
            places.result = partial.data();
            add(places, count, found);
            add_findings(findings, found, i, 1);
        }
        Places places = places_at(first);
        Found found;
        attach(places, deltas, all - last, last, first);
        if (all > last) places.partial = partial.data();
        take_step(places, count, found);
        add_findings(findings, found, all - last, last);
        findings.finite = findings.finite && found.finite;
    }
    return findings;
}

}  // namespace

std::vector<float> scales(std::span<Weighed const> included, std::int64_t discount_permille)
{
    std::map<std::string_view, Tokens> of_member;
    Tokens all;
    for (auto const& c : included) {
        of_member[c.member] += c.tokens;
        all += c.tokens;
    }
    std::vector<float> out;
    double const discount = static_cast<double>(discount_permille) / 1000;
    for (auto const& c : included) {
        auto const weight = static_cast<double>(of_member[c.member]) /
                            (1 + discount * static_cast<double>(c.staleness));
        out.push_back(c.tokens > Tokens{} ? static_cast<float>(weight / static_cast<double>(all))
                                          : 0.0F);
    }
    return out;
}

Instructions fastest_instructions()
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
        __builtin_cpu_supports("avx512vl") != 0)
        return Instructions::avx512;
    if (__builtin_cpu_supports("avx2") != 0) return Instructions::avx2;
#endif
    return Instructions::baseline;
}

MergeFindings average_step(std::span<float const> theta, WeightedDeltas const& deltas,
                           std::span<float> result, Instructions instructions)
{
    check(deltas, theta.size());
    same_length(theta.size(), result.size());
    Places all;
    all.past_caches = is_better_past_caches(theta, result);
    return for_each_block<Step::average>(deltas, theta.size(), instructions,
                                         [&](std::size_t first) {
                                             auto places = all;
                                             places.theta = theta.data() + first;
                                             places.result = result.data() + first;
                                             return places;
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
    Places all;
    all.eta = step.eta;
    all.mu = step.mu;
    all.past_caches =
        is_better_past_caches(step.theta, result) && is_better_past_caches(step.momentum, momentum);
    return for_each_block<Step::nesterov>(deltas, step.theta.size(), instructions,
                                          [&](std::size_t first) {
                                              auto places = all;
                                              places.theta = step.theta.data() + first;
                                              if (!step.momentum.empty())
                                                  places.momentum = step.momentum.data() + first;
                                              places.result = result.data() + first;
                                              places.new_momentum = momentum.data() + first;
                                              return places;
                                          });
}

double add_scaled(std::span<float const> delta, float scale, std::span<float> sum,
                  Instructions instructions)
{
    same_length(delta.size(), sum.size());
    auto const add = loop_of<Step::add>(1, instructions);
    double sumsq = 0;
    for (std::size_t first = 0; first < delta.size(); first += loops::block) {
        Places places;
        Found found;
        places.delta[0] = delta.data() + first;
        places.scale[0] = scale;
        places.partial = sum.data() + first;
        places.result = sum.data() + first;
        add(places, std::min(loops::block, delta.size() - first), found);
        sumsq += found.sumsq[0];
    }
    return sumsq;
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
