// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/result.hpp"
#include "base/core/time.hpp"

// What programs other than the poller read of `poller/state.json`. The poller itself uses
// poller/poll/stored_state.hpp, which rejects a damaged file.
namespace curtail::runlog {

/// A job of a site, as the poller last recorded it.
struct PollerJob {
    std::string id;                     ///< given by the site's launcher
    std::optional<Time> running_since;  ///< real time; empty: the job is queued
    bool leaving{false};                ///< the poller asked the job to stop
    friend bool operator==(PollerJob const&, PollerJob const&) = default;
};

/// What the poller last recorded about one site. All texts have passed through printable()
/// (base/core/text.hpp).
struct PollerSite {
    SiteId site;
    std::string window;                   ///< phase of the window: `closed`, `open` or `closing`
    std::optional<Time> closing_since;    ///< start of the close delay, on the signal's clock
    std::optional<Time> evaluated_until;  ///< the poller has evaluated the window up to this time
                                          ///< on the signal's clock
    std::vector<PollerJob> jobs;
    bool submitting{false};  ///< the poller is submitting a job, and the outcome is not known yet
    int failures{0};         ///< consecutive failures of submissions and jobs
    std::optional<Time> retry_at;  ///< no job is submitted before this real time
    std::string failure;           ///< description of the last failure
    std::optional<Time> polled{};  ///< real time of the last poll
    std::string operators{};       ///< the hold of the centre's operators; empty if there is none
    std::string hold{};            ///< why the poller itself holds the site; empty if it does not
    friend bool operator==(PollerSite const&, PollerSite const&) = default;
};

/// Reads the sites from the file `path`. A value that is missing or damaged stays empty. Returns an
/// empty optional if the file does not exist. Fails if the file is no valid JSON.
[[nodiscard]] Result<std::optional<std::vector<PollerSite>>> read_poller_sites(
    std::filesystem::path const& path);

}  // namespace curtail::runlog
