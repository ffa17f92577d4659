// SPDX-License-Identifier: Apache-2.0
#include "bill/account/billing.hpp"

namespace curtail::account {
namespace {

// One billing for each of the settings that a site had. `series` returns the intensity.
template <class Series>
energy::Billings billings(SiteTimeline const& site, Axis const& axis, Series const& series)
{
    auto const& settings = site.settings.all;
    auto const signal = [&](Time real) { return real == Time::min() ? real : axis.signal(real); };
    energy::Billings out;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        auto const& [from, config] = settings[i];
        Time const to = i + 1 < settings.size() ? signal(settings[i + 1].from) : Time::max();
        out.push_back({{signal(from), to}, config.power, config.window.open_below, series(config)});
    }
    return out;
}

}  // namespace

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

energy::Billings imagined_billings_of(Timeline const& timeline, std::size_t s,
                                      RegionSeries const& series)
{
    return billings(timeline.sites[s], timeline.axis, [&](config::Site const& site) {
        return energy::IntensitySeries{series.points,
                                       {site.signal_max_age, energy::PastEnds::nearest}};
    });
}

}  // namespace curtail::account
