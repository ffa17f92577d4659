// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "account/progress.hpp"
#include "config/run.hpp"
#include "runlog/metrics.hpp"

namespace curtail::status {

/// The newest steps of all sites.
struct WorkView {
    /// One entry per site, in the order of the run's file: at least the steps of the last
    /// `account::speed_window` that the site spent in steps, or all steps if there are fewer.
    std::vector<std::vector<runlog::StepMetrics>> sites;
    std::vector<std::string> notes;  ///< messages for the user: why a file could not be read
    /// Returns the steps of all sites.
    [[nodiscard]] std::vector<account::StepWork> all() const;
};

/// Reads the ends of the sites' metrics.jsonl in the run's folder. A missing file has no steps.
[[nodiscard]] WorkView read_work(config::Run const& run);

}  // namespace curtail::status
