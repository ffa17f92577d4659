// SPDX-License-Identifier: Apache-2.0
#include "energy/grid.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::energy {
namespace {

/// First index whose moment is not before `time`, within the grid.
std::size_t index_from(Time time, Grid const& grid)
{
    if (time <= grid.origin) return 0;
    auto const steps = (time - grid.origin + grid.step - Millis{1}) / grid.step;
    return std::min(grid.points, static_cast<std::size_t>(steps));
}

void fill(std::vector<Watts>& power, Watts level, std::span<Interval const> intervals,
          Grid const& grid)
{
    for (auto const& interval : intervals)
        for (std::size_t i = index_from(interval.from, grid);
             i < grid.points && grid.at(i) <= interval.to; ++i)
            power[i] = level;
}

}  // namespace

std::vector<Interval> segments(std::span<Time const> times, Millis longest_gap)
{
    std::vector<Interval> out;
    for (Time const time : times) {
        if (!out.empty() && time < out.back().to)
            throw std::invalid_argument("times of steps must rise");
        if (out.empty() || time - out.back().to > longest_gap) out.push_back({time, time});
        else out.back().to = time;
    }
    return out;
}

std::vector<Watts> power_on_grid(std::span<Interval const> provisioned,
                                 std::span<Interval const> training, PowerByState const& power,
                                 Grid const& grid)
{
    std::vector<Watts> out(grid.points);
    fill(out, power.idle, provisioned, grid);
    fill(out, power.training, training, grid);
    return out;
}

Tally tally_on_grid(std::span<Watts const> power, Grid const& grid,
                    IntensitySeries const& intensity, GramsPerKwh threshold)
{
    Tally sum;
    for (std::size_t i = 0; i < power.size(); ++i) {
        WattHours const energy = power[i] * FractionalSeconds(grid.step);
        if (energy.value <= 0) continue;
        auto const now = intensity.at(grid.at(i));
        bool const clean = now && *now < threshold;
        Grams const carbon = now ? energy * *now : Grams{};
        sum += {.energy = energy,
                .clean = clean ? energy : WattHours{},
                .unknown = now ? WattHours{} : energy,
                .carbon = carbon,
                .carbon_dirty = clean ? Grams{} : carbon};
    }
    sum.blind = intensity.blind() && sum.energy.value > 0;
    return sum;
}

}  // namespace curtail::energy
