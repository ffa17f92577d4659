// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "energy/bill.hpp"

// The integrator of the technical report (arXiv:2602.22760). Here a grid is a series of times, not
// an electricity grid. The integrator uses power and intensity only at these times. Each value
// counts for one Grid::step. This integrator reproduces the published numbers to the last digit.
// Curtail's own runs are integrated exactly instead (tally.hpp).
namespace curtail::energy {

/// A series of equally spaced times: `origin`, `origin + step`, and so on, `points` in total.
struct Grid {
    Time origin;
    Millis step{60'000};
    std::size_t points{0};
    /// Returns the time with index `i`, counted from 0.
    [[nodiscard]] Time at(std::size_t i) const
    {
        return origin + static_cast<std::int64_t>(i) * step;
    }
};

/// Groups `times` into intervals. Within an interval, successive times are at most `longest_gap`
/// apart. Each interval goes from the first to the last of its times. Throws std::invalid_argument
/// if `times` are not in order.
[[nodiscard]] std::vector<Interval> segments(std::span<Time const> times, Millis longest_gap);

/// Returns, for each time of the grid, whether this time is inside one of `intervals`. The end of
/// an interval counts as inside, although Interval is half-open.
[[nodiscard]] std::vector<bool> inside_on_grid(std::span<Interval const> intervals,
                                               Grid const& grid);

/// Returns a site's power at each time of the grid. Inside an interval of `training`, the power is
/// that of State::training (Power::of). Inside an interval of `provisioned` only, the power is that
/// of State::idle. At all other times, the power is 0. The ends of intervals count as inside.
/// `provisioned` are the intervals in which the site has devices.
[[nodiscard]] std::vector<Watts> power_on_grid(std::span<Interval const> provisioned,
                                               std::span<Interval const> training,
                                               Power const& power, Grid const& grid);

/// Sums up energy and carbon over the grid. `power` has one value for each time of the grid. For
/// each time, energy is power x Grid::step, and carbon is energy x intensity. `threshold` is as in
/// Rules::threshold.
[[nodiscard]] Tally tally_on_grid(std::span<Watts const> power, Grid const& grid,
                                  IntensitySeries const& intensity, GramsPerKwh threshold);

}  // namespace curtail::energy
