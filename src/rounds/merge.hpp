// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rounds/params.hpp"

/// Arithmetic of a merge. The same inputs give the same bits on every machine: fixed order, fp32,
/// no contraction, no reassociation.
namespace curtail::rounds {

/// The inputs of a contribution's weight.
struct Weighed {
    std::int64_t tokens{};
    std::int64_t staleness{};  ///< rounds
};

/// `scale_i = tokens_i / (1 + discount * staleness_i) / sum of tokens`, in double, rounded to fp32.
/// A stale delta counts less; the weights of the others do not change. All zero without tokens.
[[nodiscard]] std::vector<float> scales(std::span<Weighed const> included,
                                        std::int64_t discount_permille);

/// `g[j] = sum_i scale_i * d_i[j]`, fp32, left to right. Each delta has the length of `g`.
/// Throws std::logic_error on different lengths, like the two steps below.
void weighted_sum(std::span<std::span<float const> const> deltas, std::span<float const> scale,
                  std::span<float> g);

/// theta := theta - g.
void average_step(std::span<float> theta, std::span<float const> g);

/// Outer Nesterov step: m := mu m + g; theta := theta - eta (g + mu m).
void nesterov_step(std::span<float> theta, std::span<float> momentum, std::span<float const> g,
                   float eta, float mu);

}  // namespace curtail::rounds
