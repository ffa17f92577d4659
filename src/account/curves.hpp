// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "account/account.hpp"

/// Lines of the loss charts.
namespace curtail::account {

/// One step on the way to a curve.
struct CurvePoint {
    double step{};  ///< position, in optimizer steps
    double t{};     ///< s after time zero
    double loss{};
    double perplexity{};
};

/// Exponential smoothing with a constant in steps, so that runs logged at different densities
/// compare: a = exp(-(step_i - step_(i-1)) / constant), y_i = a y_(i-1) + (1 - a) x_i. `points` are
/// in order of step; points of equal step, as sites of one round make them, are averaged first and
/// stand at the latest of their times. Thinned after smoothing.
[[nodiscard]] Curve smoothed_curve(std::string id, std::string label,
                                   std::span<CurvePoint const> points, double constant,
                                   std::size_t most);
/// Single steps, every n-th.
[[nodiscard]] Curve raw_curve(std::string id, std::span<CurvePoint const> points, std::size_t most);

struct MeanError {
    double mean{};
    std::optional<double> error;  ///< standard error of the mean; nothing of a single value
    std::size_t count{};
};
[[nodiscard]] MeanError mean_error(std::span<double const> values);
/// Of the points within the last `steps` steps.
[[nodiscard]] MeanError tail_of(std::span<CurvePoint const> points, double steps);

}  // namespace curtail::account
