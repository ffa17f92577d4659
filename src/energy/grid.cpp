// SPDX-License-Identifier: Apache-2.0
#include "energy/grid.hpp"

#include <algorithm>
#include <stdexcept>

namespace curtail::energy {
namespace {

// First index whose time is not before `time`, within the grid.
std::size_t index_from(Time time, Grid const& grid)
{
    if (time <= grid.origin) return 0;
    auto const steps = (time - grid.origin + grid.step - Millis{1}) / grid.step;
    return std::min(grid.points, static_cast<std::size_t>(steps));
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

std::vector<bool> inside_on_grid(std::span<Interval const> intervals, Grid const& grid)
{
    std::vector<bool> out(grid.points);
    for (auto const& interval : intervals)
        for (std::size_t i = index_from(interval.from, grid);
             i < grid.points && grid.at(i) <= interval.to; ++i)
            out[i] = true;
    return out;
}

std::vector<Watts> power_on_grid(std::span<Interval const> provisioned,
                                 std::span<Interval const> training, Power const& power,
                                 Grid const& grid)
{
    auto const held = inside_on_grid(provisioned, grid);
    auto const trained = inside_on_grid(training, grid);
    std::vector<Watts> out(grid.points);
    for (std::size_t i = 0; i < grid.points; ++i)
        out[i] = trained[i] ? power.of(State::training) : held[i] ? power.of(State::idle) : Watts{};
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
