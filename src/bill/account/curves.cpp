// SPDX-License-Identifier: Apache-2.0
#include "bill/account/curves.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bill/account/thin.hpp"

namespace curtail::account {
namespace {

// Merges points of equal step into their mean, at the latest of their times.
std::vector<CurvePoint> averaged(std::span<CurvePoint const> points)
{
    std::vector<CurvePoint> out;
    for (std::size_t first = 0; first < points.size();) {
        CurvePoint mean{points[first].step, points[first].t, 0, 0};
        std::size_t next = first;
        for (; next < points.size() && points[next].step == mean.step; ++next) {
            mean.t = std::max(mean.t, points[next].t);
            mean.loss += points[next].loss;
            mean.perplexity += points[next].perplexity;
        }
        auto const count = static_cast<double>(next - first);
        mean.loss /= count;
        mean.perplexity /= count;
        out.push_back(mean);
        first = next;
    }
    return out;
}

}  // namespace

Curve smoothed_curve(std::string id, std::string label, std::span<CurvePoint const> points,
                     double constant, std::size_t most)
{
    std::vector<CurvePoint> smoothed;
    std::vector<std::optional<double>> losses;
    for (auto p : averaged(points)) {
        if (!smoothed.empty()) {
            auto const& last = smoothed.back();
            double const a = std::exp(-(p.step - last.step) / constant);
            p.loss = a * last.loss + (1 - a) * p.loss;
            p.perplexity = a * last.perplexity + (1 - a) * p.perplexity;
        }
        smoothed.push_back(p);
        losses.emplace_back(p.loss);
    }
    return {std::move(id), std::move(label), pick(smoothed, thin_line(losses, most))};
}

Curve raw_curve(std::string id, std::vector<CurvePoint> const& points, std::size_t most)
{
    return {std::move(id), {}, pick(points, thin_dots(points.size(), most))};
}

MeanError tail_of(std::span<CurvePoint const> points, double steps)
{
    double last = 0;
    for (auto const& p : points) last = std::max(last, p.step);
    std::vector<double> losses;
    for (auto const& p : points)
        if (p.step > last - steps) losses.push_back(p.loss);
    if (losses.empty()) return {};
    auto const n = static_cast<double>(losses.size());
    double const mean = std::accumulate(losses.begin(), losses.end(), 0.0) / n;
    double squares = 0;
    for (double const v : losses) squares += (v - mean) * (v - mean);
    return {mean,
            losses.size() > 1 ? std::optional(std::sqrt(squares / (n - 1) / n)) : std::nullopt};
}

}  // namespace curtail::account
