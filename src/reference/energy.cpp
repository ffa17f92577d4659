// SPDX-License-Identifier: Apache-2.0
#include "reference/energy.hpp"

#include <algorithm>

namespace curtail::reference {

namespace {

// The grid from time zero to after `last`.
energy::Grid grid_until(Time last, Time zero)
{
    constexpr Millis step{60'000};
    return {zero, step, static_cast<std::size_t>((last - zero) / step) + 2};
}

}  // namespace

energy::IntensitySeries intensity_of(RegionSeries const& series)
{
    return energy::IntensitySeries{series.points, intensity_rule()};
}

Energy energy_of(Logs const& logs, History const& history)
{
    energy::Power const power;
    Energy out;
    out.grid = grid_until(std::max(history.end, logs.one_site.back().time), logs.zero);
    for (std::size_t c = 0; c < out.power.size(); ++c) {
        out.power[c] =
            energy::power_on_grid(history.provisioned[c], history.training[c], power, out.grid);
        auto const intensity = intensity_of(*logs.find({Logs::regions[c]}));
        out.clients[c] = energy::tally_on_grid(out.power[c], out.grid, intensity, threshold);
        out.run += out.clients[c];
    }
    std::vector<energy::Interval> const whole{
        {logs.one_site.front().time, logs.one_site.back().time}};
    out.one_site = energy::power_on_grid({}, whole, power, out.grid);
    for (auto const& series : logs.trace)
        out.always_on[series.region.value] =
            energy::tally_on_grid(out.one_site, out.grid, intensity_of(series), threshold);
    return out;
}

}  // namespace curtail::reference
