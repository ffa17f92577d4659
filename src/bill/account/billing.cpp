// SPDX-License-Identifier: Apache-2.0
#include "bill/account/billing.hpp"

namespace curtail::account {
namespace {

// The power of a site in a real interval. It changes with the PUE.
std::vector<std::pair<energy::Interval, std::optional<energy::Power>>> powers(
    SiteTimeline const& timeline, config::Site const& site, energy::Interval in_force)
{
    auto first = power_of(timeline, site);
    if (!first) return {{in_force, std::nullopt}};
    std::vector<std::pair<energy::Interval, std::optional<energy::Power>>> out;
    auto power = *first;
    Time from = Time::min();
    auto const add = [&](Time to) {
        energy::Interval const when{std::max(from, in_force.from), std::min(to, in_force.to)};
        if (when.from < when.to) out.emplace_back(when, power);
    };
    for (auto const& change : site.later_pues) {
        add(change.from);
        from = change.from;
        power.pue = change.pue;
    }
    add(Time::max());
    return out;
}

// One billing for each of the settings that a site had. `series` returns the intensity.
template <class Series>
energy::Billings billings(SiteTimeline const& site, Axis const& axis, Series const& series)
{
    energy::Billings out;
    for (auto const& span : settings_spans(site, axis))
        out.push_back({span.when, span.power, span.site.window.open_below, series(span.site)});
    return out;
}

}  // namespace

std::optional<energy::Power> power_of(SiteTimeline const& site, config::Site const& settings)
{
    auto power = settings.power;
    bool const is_metered = power && settings.meter && site.metered &&
                            site.metered->share >= MeteredTraining::least_share;
    if (is_metered) power->training = site.metered->mean() + settings.meter->rest;
    return power;
}

std::vector<SettingsSpan> settings_spans(SiteTimeline const& site, Axis const& axis)
{
    auto const& settings = site.settings.all;
    auto const signal = [&](Time real) {
        return real == Time::min() || real == Time::max() ? real : axis.signal(real);
    };
    std::vector<SettingsSpan> out;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        auto const& [from, config] = settings[i];
        energy::Interval const in_force{
            from, i + 1 < settings.size() ? settings[i + 1].from : Time::max()};
        for (auto const& [when, power] : powers(site, config, in_force))
            out.push_back({{signal(when.from), signal(when.to)}, config, power});
    }
    return out;
}

std::vector<energy::Interval> window_intervals(std::vector<WindowAccount> const& windows,
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

energy::Billings billings_of(Timeline const& timeline, std::size_t s,
                             std::vector<RegionSeries> const& trace)
{
    return billings(timeline.sites[s], timeline.axis, [&](config::Site const& site) {
        for (auto const& series : trace)
            if (series.region == site.region)
                return energy::IntensitySeries{series.points, {site.signal_max_age}};
        return energy::IntensitySeries{{}};
    });
}

std::vector<energy::StateInterval> billed_of(SiteTimeline const& site)
{
    auto billed = site.held;
    billed.insert(billed.end(), site.between_jobs.begin(), site.between_jobs.end());
    std::ranges::stable_sort(billed, {}, [](auto const& s) { return s.when.from; });
    return billed;
}

energy::Billings imagined_billings_of(Timeline const& timeline, std::size_t s,
                                      RegionSeries const& series)
{
    return billings(timeline.sites[s], timeline.axis, [&](config::Site const& site) {
        return energy::IntensitySeries{series.points, {site.signal_max_age}};
    });
}

}  // namespace curtail::account
