// SPDX-License-Identifier: Apache-2.0
#include "bill/account/curves.hpp"

#include <algorithm>
#include <cmath>

#include "bill/account/thin.hpp"

namespace curtail::account {
namespace {

Curve picked(Curve const& whole, std::vector<std::size_t> const& indices)
{
    return {whole.id,
            whole.label,
            pick(whole.step, indices),
            pick(whole.t, indices),
            pick(whole.loss, indices),
            pick(whole.perplexity, indices)};
}

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
    Curve curve{std::move(id), std::move(label), {}, {}, {}, {}};
    for (auto const& p : averaged(points)) {
        double const a =
            curve.step.empty() ? 0 : std::exp(-(p.step - curve.step.back()) / constant);
        curve.loss.push_back(curve.loss.empty() ? p.loss
                                                : a * curve.loss.back() + (1 - a) * p.loss);
        curve.perplexity.push_back(curve.perplexity.empty()
                                       ? p.perplexity
                                       : a * curve.perplexity.back() + (1 - a) * p.perplexity);
        curve.step.push_back(p.step);
        curve.t.push_back(p.t);
    }
    return picked(curve, thin_line(std::span<double const>(curve.loss), most));
}

Curve raw_curve(std::string id, std::span<CurvePoint const> points, std::size_t most)
{
    Curve curve{std::move(id), {}, {}, {}, {}, {}};
    for (auto const i : thin_dots(points.size(), most)) {
        curve.step.push_back(points[i].step);
        curve.t.push_back(points[i].t);
        curve.loss.push_back(points[i].loss);
        curve.perplexity.push_back(points[i].perplexity);
    }
    return curve;
}

MeanError mean_error(std::span<double const> values)
{
    auto const n = static_cast<double>(values.size());
    if (values.empty()) return {};
    double sum = 0;
    for (double const v : values) sum += v;
    double const mean = sum / n;
    double squares = 0;
    for (double const v : values) squares += (v - mean) * (v - mean);
    return {mean,
            values.size() > 1 ? std::optional(std::sqrt(squares / (n - 1) / n)) : std::nullopt,
            values.size()};
}

MeanError tail_of(std::span<CurvePoint const> points, double steps)
{
    double last = 0;
    for (auto const& p : points) last = std::max(last, p.step);
    std::vector<double> losses;
    for (auto const& p : points)
        if (p.step > last - steps) losses.push_back(p.loss);
    return mean_error(losses);
}

}  // namespace curtail::account
