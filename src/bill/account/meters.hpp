// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bill/account/files.hpp"

namespace curtail::account {

/// What the meters of a site say about its training.
struct MeteredTraining {
    double joules{};   ///< of the steps that follow another one without a pause
    double seconds{};  ///< from the end of the step before to their ends
    double share{};    ///< the part of the time in all steps that these steps have
    [[nodiscard]] Watts mean() const { return Watts{joules / seconds}; }
    /// A site with less has been metered too rarely.
    static constexpr double least_share = 0.9;
};

/// Adds up `energy_j` of the steps. A step's value counts from the end of the step before, so a
/// step after a pause does not count. Returns an empty optional if no step has a value.
[[nodiscard]] std::optional<MeteredTraining> metered_training(
    std::vector<StepMetrics> const& steps);

}  // namespace curtail::account
