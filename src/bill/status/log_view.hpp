// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "bill/account/progress.hpp"
#include "bill/account/site_logs.hpp"

namespace curtail::status {

/// The logs of all sites of a run.
struct LogView {
    /// One entry per site, in the order of the run's file.
    std::vector<Result<account::SiteLogs>> sites;

    /// Returns the steps of all sites.
    [[nodiscard]] std::vector<account::StepWork> work() const;
    /// Returns messages for the user: which logs cannot be read or are damaged, and why.
    [[nodiscard]] std::vector<std::string> notes() const;
};

/// Reads the logs of all sites of `run`.
[[nodiscard]] LogView read_logs(config::Run const& run, journal::LogReader const& reader);

}  // namespace curtail::status
