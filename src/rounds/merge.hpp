// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rounds/params.hpp"

// The arithmetic of a merge. The same inputs give the same bits on every machine: each function
// computes with a fixed precision in a fixed order, and the compiler neither fuses nor reorders
// operations.
namespace curtail::rounds {

/// What determines the weight of a contribution in a merge.
struct Weighed {
    Tokens tokens;
    std::int64_t staleness{};  ///< in rounds
};

/// Returns the weight of each contribution, computed in double and rounded to fp32:
/// `scale_i = tokens_i / (1 + discount * staleness_i) / (sum of all tokens_i)`.
/// `discount` is `discount_permille` / 1000. All weights are 0 if no contribution has tokens.
[[nodiscard]] std::vector<float> scales(std::span<Weighed const> included,
                                        std::int64_t discount_permille);

/// Computes `g[j] = sum over i of scale[i] * deltas[i][j]` in fp32, in the order of `deltas`.
/// Throws std::logic_error if there are not as many scales as deltas, or if a delta and `g` have
/// different lengths.
void weighted_sum(std::span<std::span<float const> const> deltas, std::span<float const> scale,
                  std::span<float> g);

/// Sets theta := theta - g. theta is the model and g the result of weighted_sum(). Throws
/// std::logic_error if the lengths differ.
void average_step(std::span<float> theta, std::span<float const> g);

/// Makes an outer Nesterov step, with theta and g as in average_step(). First sets m := mu m + g,
/// where m is `momentum`. Then sets theta := theta - eta (g + mu m) with the new m. Throws
/// std::logic_error if the lengths differ.
void nesterov_step(std::span<float> theta, std::span<float> momentum, std::span<float const> g,
                   float eta, float mu);

}  // namespace curtail::rounds
