// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "energy/ledger.hpp"

/// The technical report's own integrator: power and intensity are looked at on a grid of moments,
/// and each stands for one step. Kept apart because published figures follow from it to the last
/// digit; our own runs are integrated exactly (tally.hpp).
namespace curtail::energy {

/// The moments `origin`, `origin + step`, ...
struct Grid {
    Time origin;
    Millis step{60'000};
    std::size_t points{0};
    [[nodiscard]] Time at(std::size_t i) const
    {
        return origin + static_cast<std::int64_t>(i) * step;
    }
};

/// Runs of `times` (rising) without a gap longer than `longest_gap`, from first to last time.
[[nodiscard]] std::vector<Interval> segments(std::span<Time const> times, Millis longest_gap);

/// Power at each moment: training power inside a training segment, else idle power where
/// provisioned, else nothing. Both ends of an interval belong to it.
[[nodiscard]] std::vector<Watts> power_on_grid(std::span<Interval const> provisioned,
                                               std::span<Interval const> training,
                                               PowerByState const& power, Grid const& grid);

/// Sum over the grid of power x step, and of that x intensity at that moment.
[[nodiscard]] Tally tally_on_grid(std::span<Watts const> power, Grid const& grid,
                                  IntensitySeries const& intensity, GramsPerKwh threshold);

}  // namespace curtail::energy
