// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bill/account/curves.hpp"
#include "bill/account/parts.hpp"
#include "bill/account/thin.hpp"

namespace curtail::account {
namespace {

constexpr std::size_t most_dots_of_a_site = 1500;

// The steps of one site that have a loss.
std::vector<CurvePoint> points_of(SiteFiles const& site, Tokens tokens_per_step, Axis const& axis)
{
    std::vector<CurvePoint> out;
    for (auto const& step : site.metrics)
        if (step.loss)
            out.push_back({ratio(step.progress, tokens_per_step), axis.at(step.time), *step.loss,
                           std::exp(*step.loss)});
    return out;
}

double mean_step(RunFiles const& files)
{
    double seconds = 0;
    std::size_t steps = 0;
    for (auto const& site : files.sites) {
        for (auto const& step : site.metrics) seconds += step.duration.count();
        steps += site.metrics.size();
    }
    return seconds / static_cast<double>(steps);
}

}  // namespace

TrainingResult training_of(RunFiles const& files, Timeline const& timeline,
                           MaybeSeconds last_step_s)
{
    auto const per_step = timeline.pace.batch_tokens;
    LossAccount loss;
    std::vector<CurvePoint> all;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        auto const mine = points_of(files.sites[s], per_step, timeline.axis);
        loss.raw.push_back(raw_curve(files.run.sites[s].site.value, mine, most_dots_of_a_site));
        all.insert(all.end(), mine.begin(), mine.end());
    }
    if (all.empty()) return {};
    std::stable_sort(all.begin(), all.end(),
                     [](CurvePoint const& a, CurvePoint const& b) { return a.step < b.step; });
    auto const count = static_cast<double>(all.size());
    double const constant = std::clamp(std::round(count / 50), 5.0, 100.0);
    loss.tokens_per_step = per_step;
    loss.smoothing = fmt::format("exponential, constant {:.0f} optimizer steps ({:.3g} M tokens)",
                                 constant, constant * static_cast<double>(per_step) * 1e-6);
    loss.tail_steps = static_cast<std::int64_t>(std::clamp(std::round(count / 10), 20.0, 1000.0));
    auto curve = smoothed_curve("run", "this run", all, constant, max_points_per_line);
    auto const tail = tail_of(all, static_cast<double>(loss.tail_steps));
    auto const best = std::min_element(
        curve.points.begin(), curve.points.end(),
        [](CurvePoint const& a, CurvePoint const& b) { return a.perplexity < b.perplexity; });
    loss.finals.push_back({"run", "this run", best->perplexity, tail.mean, tail.error,
                           last_step_s.value_or(0), static_cast<std::int64_t>(all.size())});
    loss.curves.push_back(std::move(curve));
    return {std::move(loss), mean_step(files)};
}

}  // namespace curtail::account
