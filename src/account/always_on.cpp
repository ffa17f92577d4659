// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "account/rules.hpp"

namespace curtail::account {
namespace {

constexpr double chart_points = 400;

// The real intervals in which each site holds devices, in order.
std::vector<std::vector<energy::Interval>> held_by_site(Timeline const& timeline)
{
    std::vector<std::vector<energy::Interval>> out;
    for (auto const& site : timeline.sites) {
        auto& mine = out.emplace_back();
        for (auto const& s : site.held_real) {
            if (!mine.empty() && mine.back().to == s.when.from) mine.back().to = s.when.to;
            else mine.push_back(s.when);
        }
    }
    return out;
}

bool overlaps(std::vector<energy::Interval> const& in_order, energy::Interval when)
{
    auto const it = std::upper_bound(in_order.begin(), in_order.end(), when.from,
                                     [](Time t, energy::Interval const& i) { return t < i.to; });
    return it != in_order.end() && it->from < when.to;
}

bool is_alone(std::vector<std::vector<energy::Interval>> const& held, std::size_t site,
              energy::Interval when)
{
    for (std::size_t other = 0; other < held.size(); ++other)
        if (other != site && overlaps(held[other], when)) return false;
    return true;
}

// The site whose power and threshold count in a region; the first site for a region without one.
config::Site const& site_for(RunFiles const& files, RegionId const& region)
{
    auto const own = std::find_if(files.run.sites.begin(), files.run.sites.end(),
                                  [&](config::Site const& s) { return s.region == region; });
    return own == files.run.sites.end() ? files.run.sites.front() : *own;
}

// Why always-on cannot be computed; empty if it can.
std::string obstacle(RunFiles const& files, Tokens tokens, std::optional<double> rate)
{
    if (tokens == Tokens{}) return "no commit holds trained tokens yet";
    if (!rate) return "no step ran while no other site held devices, so there is no lone rate";
    return files.trace.empty() ? no_signal : "";
}

// Always-on in one region.
struct Region {
    Scenario scenario;
    RunningTotals cumulative;
    double step_s{};
};

Region region_of(RegionSeries const& trace, RunFiles const& files, Axis const& axis, Tokens tokens,
                 double rate)
{
    auto const& site = site_for(files, trace.region);
    auto const rules = rules_of(files, site);
    auto rule = rule_of(files.run, trace.region, site);
    rule.past_ends = energy::PastEnds::nearest;
    energy::IntensitySeries const series{trace.points, rule};
    auto const start = trace.points.empty() ? axis.zero() : trace.points.front().time;
    auto const result = energy::always_on(tokens, rate / axis.factor(), start, series, rules);
    auto const wall = result.when.length().count();
    Scenario scenario;
    scenario.id = "one:" + trace.region.value;
    scenario.label = "Always on, " + trace.region.value;
    scenario.region = trace.region.value;
    scenario.wall_s = wall;
    scenario.step = static_cast<double>(files.run.training.batch_tokens) / rate;
    scenario.range = {result.tally};
    scenario.tokens = tokens;
    scenario.held_s = result.assumed.length().count();
    scenario.held_wh = rules.power.of(energy::State::training) * result.assumed.length();
    double const step = chart_step(wall, chart_points);
    std::vector<energy::StateInterval> const whole{{energy::State::training, result.when}};
    return {std::move(scenario),
            {axis.of_signal(start),
             energy::cumulative(whole, series, rules, start, millis(step), points_for(wall, step))},
            step};
}

}  // namespace

std::optional<double> lone_rate(RunFiles const& files, Timeline const& timeline)
{
    auto const held = held_by_site(timeline);
    double tokens = 0;
    double seconds = 0;
    for (std::size_t s = 0; s < files.sites.size(); ++s) {
        for (auto const& step : files.sites[s].metrics) {
            if (!is_alone(held, s,
                          {step.time - std::chrono::round<Millis>(step.duration), step.time}))
                continue;
            tokens += static_cast<double>(step.tokens);
            seconds += step.duration.count();
        }
    }
    if (seconds <= 0 || tokens <= 0) return std::nullopt;
    return tokens / seconds;
}

AlwaysOn always_on_of(RunFiles const& files, Timeline const& timeline, Tokens tokens)
{
    AlwaysOn out;
    out.lone_rate = lone_rate(files, timeline);
    out.missing = obstacle(files, tokens, out.lone_rate);
    if (!out.missing.empty()) return out;
    for (auto const& trace : files.trace) {
        auto region = region_of(trace, files, timeline.axis, tokens, *out.lone_rate);
        out.scenarios.push_back(std::move(region.scenario));
        out.cumulative[trace.region.value] = std::move(region.cumulative);
        out.step_s = region.step_s;
    }
    return out;
}

}  // namespace curtail::account
