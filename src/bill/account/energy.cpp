// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bill/account/rules.hpp"
#include "bill/account/thin.hpp"

namespace curtail::account {
namespace {

energy::IntensitySeries series_of(RunFiles const& files, std::vector<RegionSeries> const& trace,
                                  config::Site const& site)
{
    for (auto const& series : trace)
        if (series.region == site.region)
            return energy::IntensitySeries{series.points, rule_of(files.run, site.region, site)};
    return energy::IntensitySeries{{}};
}

// Windows on the signal's axis, in order and without overlap. An open one ends at `end_s`.
std::vector<energy::Interval> intervals_of(std::vector<WindowAccount> const& windows,
                                           std::size_t site, Timeline const& timeline)
{
    std::vector<energy::Interval> out;
    for (auto const& w : windows) {
        if (w.site != site) continue;
        Time const open = timeline.axis.signal_at(w.open_s);
        Time const from = out.empty() ? open : std::max(open, out.back().to);
        Time const to = timeline.axis.signal_at(w.close_s.value_or(timeline.end_s));
        if (from < to) out.push_back({from, to});
    }
    return out;
}

// Tells whether each state begins when the one before has ended.
bool in_order(std::vector<energy::StateInterval> const& held)
{
    return std::adjacent_find(held.begin(), held.end(), [](auto const& a, auto const& b) {
               return b.when.from < a.when.to;
           }) == held.end();
}

// One site's intensity, states and settings: what its energy is computed from.
struct SiteSource {
    std::vector<energy::StateInterval> const& held;
    energy::IntensitySeries series;
    energy::BillSettings settings;
    bool ordered{in_order(held)};

    [[nodiscard]] energy::Tally tally(energy::Interval when) const
    {
        return energy::bill_of(energy::clip(near(when), when), {}, series, settings).total;
    }

  private:
    // The states that `when` can overlap: of ordered states, those that a search finds.
    [[nodiscard]] std::span<energy::StateInterval const> near(energy::Interval when) const
    {
        if (!ordered) return held;
        auto const first = std::partition_point(
            held.begin(), held.end(), [&](auto const& s) { return s.when.to <= when.from; });
        auto const last = std::partition_point(
            first, held.end(), [&](auto const& s) { return s.when.from < when.to; });
        return {first, last};
    }
};

// Adds what the site drew from each of its windows' openings to its next one.
void add_windows(std::vector<energy::Tally>& tallies, std::vector<WindowAccount> const& windows,
                 std::size_t site, SiteSource const& source, Axis const& axis)
{
    Time next = Time::max();
    for (std::size_t i = windows.size(); i-- > 0;) {
        if (windows[i].site != site) continue;
        Time const open = axis.signal_at(windows[i].open_s);
        tallies[i] = source.tally({open, next});
        next = open;
    }
}

}  // namespace

std::map<std::string, energy::IntensityRule> intensity_rules_of(RunFiles const& files)
{
    std::map<std::string, energy::IntensityRule> rules;
    for (auto const& series : files.trace)
        rules[series.region.value] = rule_of(files.run, series.region, files.run.reference());
    return rules;
}

std::optional<energy::Tally> average_of(RunFiles const& files, Timeline const& timeline)
{
    if (files.averages.empty()) return std::nullopt;
    energy::Tally sum;
    for (std::size_t s = 0; s < files.run.sites.size(); ++s) {
        auto const& site = files.run.sites[s];
        sum += energy::bill_of(timeline.sites[s].held, {}, series_of(files, files.averages, site),
                               settings_of(files, site))
                   .total;
    }
    return sum;
}

Energy energy_of(RunFiles const& files, Timeline const& timeline,
                 std::vector<WindowAccount> const& windows, std::vector<RoundAccount> const& rounds)
{
    auto const& axis = timeline.axis;
    Energy energy;
    energy.cumulative_step_s = chart_step(timeline.end_s, max_points_per_line);
    energy.windows.resize(windows.size());
    energy.rounds.resize(rounds.size());
    auto const points = points_for(timeline.end_s, energy.cumulative_step_s);
    for (std::size_t s = 0; s < files.run.sites.size(); ++s) {
        auto const& site = files.run.sites[s];
        SiteSource const source{timeline.sites[s].held, series_of(files, files.trace, site),
                                settings_of(files, site)};
        energy.sites.push_back(
            {energy::bill_of(source.held, intervals_of(windows, s, timeline), source.series,
                             source.settings),
             energy::cumulative(source.held, source.series, source.settings, axis.zero(),
                                millis(energy.cumulative_step_s), points)});
        add_windows(energy.windows, windows, s, source, axis);
        for (std::size_t r = 0; r < rounds.size(); ++r)
            energy.rounds[r] +=
                source.tally({axis.signal_at(rounds[r].start_s), axis.signal_at(rounds[r].end_s)});
    }
    return energy;
}

}  // namespace curtail::account
