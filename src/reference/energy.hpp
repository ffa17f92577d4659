// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "energy/grid.hpp"
#include "reference/history.hpp"

namespace curtail::reference {

/// Energy below it would have been curtailed.
inline constexpr GramsPerKwh threshold{100};

/// What each client and the one-site baseline drew, on the 60 s grid.
struct Energy {
    energy::Grid grid;
    std::array<std::vector<Watts>, 3> power;  ///< per client and grid point
    std::vector<Watts> one_site;              ///< baseline: power from its first to its last step
    std::array<energy::Tally, 3> clients;     ///< each with its own region
    energy::Tally run;                        ///< their sum
    std::map<std::string, energy::Tally> always_on;  ///< the baseline, by region of the trace
    [[nodiscard]] double ratio_to(std::string const& region) const
    {
        return ratio(run.carbon, always_on.at(region).carbon);
    }
};
[[nodiscard]] Energy energy_of(Logs const& logs, History const& history);

/// The intensity of a region, held past both ends.
[[nodiscard]] energy::IntensitySeries intensity_of(RegionSeries const& series);

}  // namespace curtail::reference
