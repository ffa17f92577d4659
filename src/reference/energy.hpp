// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "energy/grid.hpp"
#include "reference/history.hpp"

namespace curtail::reference {

/// Energy drawn while the intensity is below this threshold counts as clean. The technical report
/// takes it for energy that would have been curtailed.
inline constexpr GramsPerKwh threshold{100};

/// The power, energy and carbon of each client and of the baseline. The baseline is the always-on
/// run with one site (Logs::one_site). Power and intensity are sampled every 60 s.
struct Energy {
    energy::Grid grid;
    std::array<std::vector<Watts>, 3> power;  ///< one series per client, with one value per point
                                              ///< of `grid`
    std::vector<Watts> one_site;  ///< power of the baseline at each point of `grid`; 0 before the
                                  ///< baseline's first step and after its last step
    /// One tally per client. The carbon is computed with the intensity of the client's region.
    std::array<energy::Tally, 3> clients;
    energy::Tally run;  ///< sum over the clients
    /// Region -> the energy and carbon of the baseline, computed as if its site were in this
    /// region. Contains every region of Logs::trace.
    std::map<std::string, energy::Tally> always_on;
    /// Returns the run's carbon divided by that of the baseline in `region`.
    [[nodiscard]] double ratio_to(std::string const& region) const
    {
        return ratio(run.carbon, always_on.at(region).carbon);
    }
};
/// Computes the energy and carbon of the clients and of the baseline.
[[nodiscard]] Energy energy_of(Logs const& logs, History const& history);

/// Returns the accounting rule of the technical report: energy::AccountingRule::linear.
[[nodiscard]] inline energy::IntensityRule intensity_rule()
{
    return {energy::AccountingRule::linear, {}, energy::PastEnds::nearest};
}

/// Returns the intensity of a region under energy::AccountingRule::linear. Before the first sample,
/// the intensity is that of the first sample. After the last sample, it is that of the last sample.
[[nodiscard]] energy::IntensitySeries intensity_of(RegionSeries const& series);

}  // namespace curtail::reference
