// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/merge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "protocol/rules/merge_loops.hpp"

namespace curtail::protocol {
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

using loops::Loop;
using loops::LoopSums;
using loops::Places;

loops::LoopTable const& table_for(Instructions instructions)
{
    switch (instructions) {
        case Instructions::baseline:
            return loops::baseline;
        case Instructions::avx2:
            return loops::avx2;
        case Instructions::avx512:
            return loops::avx512;
    }
    throw std::logic_error("unknown instructions");
}

// Whether writing past the caches is of use: not if the result replaces an input, which is in the
// caches, or if it is so small that it stays there.
bool is_better_past_caches(std::span<float const> input, std::span<float> result)
{
    constexpr std::size_t small = std::size_t{1} << 20;
    return input.data() != result.data() && result.size() > small;
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

void add_findings(MergeFindings& findings, LoopSums const& sums, std::size_t from,
                  std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i) findings.sumsq[from + i] += sums.sumsq[i];
}

// How to take a step.
struct Means {
    loops::LoopTable const& table;
    loops::LoopTable::Loops const& steps;  ///< of the table
    bool past_caches{};
};

// Computes the block of a step, and writes its results.
class StepWriter {
  public:
    explicit StepWriter(Means const& means) : means_(means) {}
    void write(Loop step, Places places, std::size_t count, LoopSums& sums)
    {
        if (!means_.past_caches) return step(places, count, sums);
        auto* const result = std::exchange(places.result, result_.data());
        auto* const momentum = std::exchange(places.new_momentum, momentum_.data());
        step(places, count, sums);
        means_.table.copy_past_caches(result_.data(), count, result);
        if (momentum != nullptr) means_.table.copy_past_caches(momentum_.data(), count, momentum);
    }

  private:
    Means const& means_;
    alignas(64) std::array<float, loops::block> result_{};
    alignas(64) std::array<float, loops::block> momentum_{};
};

// Takes a step block by block. `places_at` returns the places of the block with that first index,
// without its deltas.
template <class PlacesAt>
MergeFindings for_each_block(WeightedDeltas const& deltas, std::size_t length, Means const& means,
                             PlacesAt const& places_at)
{
    auto const all = deltas.deltas.size();
    auto const last = std::min(all, loops::most_streams);
    auto const add = means.table.add[1];
    StepWriter writer(means);
    MergeFindings findings{std::vector<double>(all), true};
    alignas(64) std::array<float, loops::block> partial{};
    for (std::size_t first = 0; first < length; first += loops::block) {
        auto const count = std::min(loops::block, length - first);
        for (std::size_t i = 0; i + last < all; ++i) {
            Places places;
            LoopSums sums;
            attach(places, deltas, i, 1, first);
            if (i > 0) places.partial = partial.data();
            places.result = partial.data();
            add(places, count, sums);
            add_findings(findings, sums, i, 1);
        }
        Places places = places_at(first);
        LoopSums sums;
        attach(places, deltas, all - last, last, first);
        if (all > last) places.partial = partial.data();
        writer.write(means.steps.at(last), places, count, sums);
        add_findings(findings, sums, all - last, last);
        findings.finite = findings.finite && sums.finite;
    }
    if (means.past_caches) means.table.finish_copies();
    return findings;
}

}  // namespace

std::vector<float> scales(std::span<WeightInput const> included, std::int64_t discount_permille)
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
    auto const& table = table_for(instructions);
    Means const means{table, table.average, is_better_past_caches(theta, result)};
    return for_each_block(deltas, theta.size(), means, [&](std::size_t first) {
        Places places;
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
    auto const& table = table_for(instructions);
    bool const past_caches =
        is_better_past_caches(step.theta, result) && is_better_past_caches(step.momentum, momentum);
    Means const means{table, table.nesterov, past_caches};
    return for_each_block(deltas, step.theta.size(), means, [&](std::size_t first) {
        Places places;
        places.eta = step.eta;
        places.mu = step.mu;
        places.theta = step.theta.data() + first;
        if (!step.momentum.empty()) places.momentum = step.momentum.data() + first;
        places.result = result.data() + first;
        places.new_momentum = momentum.data() + first;
        return places;
    });
}

double add_scaled(std::span<float const> delta, float scale, std::span<float> sum,
                  Instructions instructions)
{
    same_length(delta.size(), sum.size());
    auto const add = table_for(instructions).add[1];
    double sumsq = 0;
    for (std::size_t first = 0; first < delta.size(); first += loops::block) {
        Places places;
        LoopSums sums;
        places.delta[0] = delta.data() + first;
        places.scale[0] = scale;
        places.partial = sum.data() + first;
        places.result = sum.data() + first;
        add(places, std::min(loops::block, delta.size() - first), sums);
        sumsq += sums.sumsq[0];
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

}  // namespace curtail::protocol
