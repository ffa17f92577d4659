// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "protocol/records/params.hpp"

// The arithmetic of a merge. The same inputs give the same bits on every machine: each function
// computes with a fixed precision in a fixed order, and the compiler neither fuses nor reorders
// operations.
namespace curtail::protocol {

/// What determines the weight of a contribution in a merge.
struct WeightInput {
    std::string_view member;
    Tokens tokens;
    std::int64_t staleness{};  ///< in rounds
};

/// Returns the weight of each contribution, computed in double and rounded to fp32:
/// `scale_i = w_i / (1 + discount * staleness_i) / (sum of all tokens)`. Here w_i is the sum of the
/// tokens of all contributions of the same member. Each of them continues the work of the one
/// before, so the member's work is the sum of its deltas. `discount` is `discount_permille` / 1000.
/// A contribution without tokens has the weight 0.
[[nodiscard]] std::vector<float> scales(std::span<WeightInput const> included,
                                        std::int64_t discount_permille);

/// The deltas of a merge and their weights. All deltas have as many values as the model.
struct WeightedDeltas {
    std::span<std::span<float const> const> deltas;
    std::span<float const> scale;  ///< one per delta
};

/// The instructions with which a merge computes. The result has the same bits with all of them.
enum class Instructions { baseline, avx2, avx512 };
/// Returns the fastest instructions of this machine.
[[nodiscard]] Instructions fastest_instructions();

// The averaged delta g is `g[j] = sum over i of scale[i] * deltas[i][j]` in fp32, in the order of
// the deltas. average_step() and nesterov_step() compute it on the way, and touch each value of
// memory once. They throw std::logic_error if there are not as many weights as deltas, or if
// lengths differ.

/// What a merge finds out about its inputs and its result while it computes.
struct MergeFindings {
    /// For each delta, the sum of the squares of its values. Not finite if and only if one of the
    /// values is not finite.
    std::vector<double> sumsq;
    bool finite{true};  ///< all values of the new model are finite
};

/// Computes `result` := theta - g. theta is the model.
MergeFindings average_step(std::span<float const> theta, WeightedDeltas const& deltas,
                           std::span<float> result,
                           Instructions instructions = fastest_instructions());

/// The inputs and parameters of an outer step with Nesterov momentum.
struct OuterStep {
    std::span<float const> theta;     ///< the model
    std::span<float const> momentum;  ///< m; empty: zeros
    float eta{};
    float mu{};
};
/// Computes `momentum` := mu m + g. Then computes `result` := theta - eta (g + mu m) with this m.
MergeFindings nesterov_step(OuterStep const& step, WeightedDeltas const& deltas,
                            std::span<float> result, std::span<float> momentum,
                            Instructions instructions = fastest_instructions());

/// Adds `scale` * `delta` to `sum` in fp32, for a merge that does not hold its deltas. Returns the
/// sum of the squares of `delta`; it is not finite if and only if one of its values is not finite.
///
/// Begin with zeros and add the deltas in their order. Then the steps above give the same bits with
/// `sum`, as a single delta of weight 1, as with all deltas. Throws std::logic_error if the lengths
/// differ.
double add_scaled(std::span<float const> delta, float scale, std::span<float> sum,
                  Instructions instructions = fastest_instructions());

/// Returns true if a recomputed sum of squares agrees with the one in the header. The member and
/// the merger add in different orders. So the sums may differ by a millionth of the greater one,
/// which is far more than rounding can cause. Returns false if one of them is not a number.
[[nodiscard]] bool is_same_sumsq(double recomputed, double announced);

/// Looks for the first value of `result` that is not finite. Returns the index of the delta that
/// contributed most to that value. Returns the first such delta if several contributed equally.
/// Throws std::logic_error if all values are finite, or if there is no delta.
[[nodiscard]] std::size_t greatest_at_fault(WeightedDeltas const& deltas,
                                            std::span<float const> result);

}  // namespace curtail::protocol
