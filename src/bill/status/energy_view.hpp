// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/core/intensity.hpp"
#include "bill/status/log_view.hpp"
#include "run/config/run.hpp"
#include "run/energy/tally.hpp"

namespace curtail::status {

/// What one site has drawn so far, and the newest sample of its signal.
struct SiteConsumption {
    energy::Tally tally;
    std::optional<SamplePoint> sample;  ///< on the signal's clock; empty if there is none
};

/// Energy and carbon of a run so far, as curtail-report would state them.
struct EnergyView {
    std::vector<SiteConsumption> sites;  ///< in the order of the run's file
    [[nodiscard]] energy::Tally total() const;
};

/// What read_energy() found.
struct EnergyReading {
    std::optional<EnergyView> energy;  ///< empty if a log cannot be read or no poller has run for
                                       ///< this run
    std::vector<std::string> notes;    ///< messages for the user: why files could not be read
};

/// Computes energy and carbon from the logs of the sites, and reads what else it needs from the
/// run's folder.
[[nodiscard]] EnergyReading read_energy(config::Run const& run, LogView const& logs);

}  // namespace curtail::status
