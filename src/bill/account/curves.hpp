// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "bill/account/account.hpp"

// Computes the lines of the loss charts.
namespace curtail::account {

/// Smooths `points`, which must be in order of step. Then thins the curve: keeps the points that
/// thin_line() (thin.hpp) selects with the limit `most`.
///
/// Points of different sites can have the same step. Before the smoothing, all points with the same
/// step become one point. This point has their mean loss, mean perplexity and latest `t`.
///
/// The smoothing is exponential. `constant` is a number of steps, not of points. Point i has the
/// step s_i, the loss x_i and the smoothed loss y_i. Perplexity is smoothed like the loss:
///     y_0 = x_0
///     y_i = a y_(i-1) + (1 - a) x_i    with a = exp(-(s_i - s_(i-1)) / constant)
[[nodiscard]] Curve smoothed_curve(std::string id, std::string label,
                                   std::span<CurvePoint const> points, double constant,
                                   std::size_t most);
/// Makes a curve without smoothing. It keeps every n-th point, with the smallest n that leaves at
/// most `most` points.
[[nodiscard]] Curve raw_curve(std::string id, std::vector<CurvePoint> const& points,
                              std::size_t most);

/// A mean and its standard error.
struct MeanError {
    double mean{};
    std::optional<double> error;  ///< standard error of the mean; empty for fewer than two values
};
/// Computes the mean loss of the points in the last `steps` steps.
[[nodiscard]] MeanError tail_of(std::span<CurvePoint const> points, double steps);

}  // namespace curtail::account
