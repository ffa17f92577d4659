// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "bill/account/billing.hpp"
#include "bill/account/states_by_time.hpp"
#include "bill/account/thin.hpp"

namespace curtail::account {
namespace {

// The embodied carbon of the hours in which the site held devices, or in which its nodes were idle
// between its jobs. Empty if the site does not state it for all of these hours.
std::optional<Grams> embodied_of(SiteTimeline const& site, Axis const& axis)
{
    auto const billed = billed_of(site);
    Grams sum;
    for (auto const& span : settings_spans(site, axis)) {
        FractionalSeconds reserved{0};
        for (auto const& s : energy::clip(billed, span.when)) reserved += s.when.length();
        if (reserved.count() <= 0) continue;
        auto const& rate = span.site.embodied_gco2_per_hour;
        if (!rate) return std::nullopt;
        sum += Grams{*rate * reserved.count() / 3600};
    }
    return sum;
}

// What one site's energy is computed from.
struct SiteSource {
    StatesByTime held;
    energy::Billings billings;

    [[nodiscard]] energy::Tally tally(energy::Interval when) const
    {
        return energy::bill_of(energy::clip(held.near(when), when), {}, billings).total;
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

std::map<std::string, energy::IntensityRule> intensity_rules_of(RunFiles const& files,
                                                                Timeline const& timeline)
{
    std::map<std::string, energy::IntensityRule> rules;
    for (auto const& series : files.trace) {
        auto& rule = rules[series.region.value];
        for (auto const& site : timeline.sites)
            if (site.settings.last().region == series.region)
                rule.least_hold = std::max(rule.least_hold, site.settings.last().signal_max_age);
        if (rule.least_hold == Millis{0})
            rule.least_hold = files.run.sites[timeline.reference].signal_max_age;
    }
    return rules;
}

std::optional<energy::Tally> average_of(RunFiles const& files, Timeline const& timeline)
{
    if (files.averages.empty()) return std::nullopt;
    energy::Tally sum;
    for (std::size_t s = 0; s < files.run.sites.size(); ++s)
        sum += energy::bill_of(billed_of(timeline.sites[s]), {},
                               billings_of(timeline, s, files.averages))
                   .total;
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
        auto const& site = timeline.sites[s];
        SiteSource const source{StatesByTime(site.held), billings_of(timeline, s, files.trace)};
        auto const billed = billed_of(site);
        energy.sites.push_back(
            {energy::bill_of(billed, window_intervals(windows, s, timeline), source.billings),
             energy::cumulative(billed, source.billings, axis.zero(),
                                millis(energy.cumulative_step_s), points),
             embodied_of(site, axis),
             energy::bill_of(site.maybe_between_jobs, {}, source.billings).total});
        add_windows(energy.windows, windows, s, source, axis);
        for (std::size_t r = 0; r < rounds.size(); ++r)
            energy.rounds[r] +=
                source.tally({axis.signal_at(rounds[r].start_s), axis.signal_at(rounds[r].end_s)});
    }
    return energy;
}

}  // namespace curtail::account
