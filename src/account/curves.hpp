// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "account/account.hpp"

/// Lines of the loss charts.
namespace curtail::account {

/// One step of a curve before smoothing.
struct CurvePoint {
    double step{};  ///< position, in optimizer steps
    double t{};     ///< s after time zero
    double loss{};
    double perplexity{};
};

/// Exponential smoothing with a constant in steps, so that curves logged at different densities are
/// comparable: a = exp(-(step_i - step_(i-1)) / constant), y_i = a y_(i-1) + (1 - a) x_i. `points`
/// are in order of step. Points of equal step (several sites in one round) are averaged first, at
/// the latest of their times. The curve is thinned after smoothing.
[[nodiscard]] Curve smoothed_curve(std::string id, std::string label,
                                   std::span<CurvePoint const> points, double constant,
                                   std::size_t most);
/// Single steps, every n-th.
[[nodiscard]] Curve raw_curve(std::string id, std::span<CurvePoint const> points, std::size_t most);

struct MeanError {
    double mean{};
    std::optional<double> error;  ///< standard error of the mean; empty for a single value
    std::size_t count{};
};
[[nodiscard]] MeanError mean_error(std::span<double const> values);
/// Mean loss of the points within the last `steps` steps.
[[nodiscard]] MeanError tail_of(std::span<CurvePoint const> points, double steps);

}  // namespace curtail::account
