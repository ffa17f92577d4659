// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "energy/bill.hpp"

/// The technical report's integrator: it samples power and intensity on a grid of times, and each
/// sample counts for one step. It reproduces the published figures to the last digit. Runs of
/// Curtail are integrated exactly (tally.hpp).
namespace curtail::energy {

/// The times `origin`, `origin + step`, ...
struct Grid {
    Time origin;
    Millis step{60'000};
    std::size_t points{0};
    [[nodiscard]] Time at(std::size_t i) const
    {
        return origin + static_cast<std::int64_t>(i) * step;
    }
};

/// Groups `times` (rising) into intervals without a gap longer than `longest_gap`. Each reaches
/// from its first time to its last.
[[nodiscard]] std::vector<Interval> segments(std::span<Time const> times, Millis longest_gap);

/// Whether each time of the grid is inside one of the intervals. Both ends of an interval belong to
/// it.
[[nodiscard]] std::vector<bool> inside_on_grid(std::span<Interval const> intervals,
                                               Grid const& grid);

/// Power at each time: training power inside a training interval, else idle power where
/// provisioned, else 0.
[[nodiscard]] std::vector<Watts> power_on_grid(std::span<Interval const> provisioned,
                                               std::span<Interval const> training,
                                               Power const& power, Grid const& grid);

/// Sum over the grid of power x step, and of that x intensity at that time.
[[nodiscard]] Tally tally_on_grid(std::span<Watts const> power, Grid const& grid,
                                  IntensitySeries const& intensity, GramsPerKwh threshold);

}  // namespace curtail::energy
