// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "bill/account/progress.hpp"
#include "bill/account/site_logs.hpp"

namespace curtail::status {

/// The logs of all sites of a run.
struct LogView {
    /// One entry per site, in the order of the run's file. The metrics have at least the steps of
    /// the last `account::speed_window` that the site spent in steps, or all steps if there are
    /// fewer. They have all steps if a trainer of the site was killed: its training then ended with
    /// its last step.
    std::vector<Result<account::SiteLogs>> sites;

    /// Returns the newest steps of all sites.
    [[nodiscard]] std::vector<account::StepWork> work() const;
    /// Returns messages for the user: which logs cannot be read or are damaged, and why.
    [[nodiscard]] std::vector<std::string> notes() const;
};

/// Reads the logs of all sites of `run`.
[[nodiscard]] LogView read_logs(config::Run const& run, journal::LogReader const& reader);

}  // namespace curtail::status
