// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <vector>

namespace curtail::protocol::simulator {

/// Simulated weights. For each block, they count how often the block was used for training.
using Tickets = std::vector<int>;

/// Some numbers of a simulated payload. The merge computes with them as with real weights, so that
/// scales, momentum and order matter.
using Values = std::array<float, 4>;

/// Returns the numbers of a delta, or of a model that no merge made: they follow from the blocks.
[[nodiscard]] Values values_of(Tickets const& tickets);

/// A delta in a merge.
struct Term {
    Values delta;
    float scale{};
};
/// How a merge makes the model.
struct MergeSettings {
    bool outer_step{};
    double eta{};
    double mu{};
};
/// What a merge makes.
struct MergedValues {
    Values model;
    Values momentum;  ///< zeros without an outer step
};
/// Computes a merge with protocol/rules/merge.hpp.
[[nodiscard]] MergedValues merge_values(Values const& model, Values const& momentum,
                                        std::vector<Term> const& terms,
                                        MergeSettings const& settings);

}  // namespace curtail::protocol::simulator
