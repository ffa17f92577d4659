// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "config/run.hpp"
#include "core/time.hpp"

namespace curtail::status {

/// A job of a site, as the poller last recorded it.
struct JobView {
    std::string id;                     ///< given by the site's launcher
    std::optional<Time> running_since;  ///< empty: the job is queued
    bool leaving{false};                ///< the poller asked it to stop
    friend bool operator==(JobView const&, JobView const&) = default;
};

/// What the poller and the trainer last wrote about one site. Each value may be out of date, so use
/// them only for display.
struct SiteView {
    SiteId site;
    /// Phase of the window: `closed`, `open` or `closing`. Empty if the poller has written no
    /// phase.
    std::string window;
    std::optional<Time> closing_since;    ///< start of the close delay, on the signal's clock
    std::optional<Time> evaluated_until;  ///< end of the last evaluation, on the signal's clock
    std::vector<JobView> jobs;
    bool submitting{false};  ///< the poller is submitting a job, and the outcome is not known yet
    int failures{0};         ///< consecutive failures of submissions and jobs
    std::optional<Time> retry_at;  ///< no job is submitted before this time
    std::string failure;           ///< description of the last failure
    std::string trainer;  ///< the trainer's last state, such as `training`; empty if not known
    std::optional<Time> trainer_since;  ///< when the trainer entered that state
    friend bool operator==(SiteView const&, SiteView const&) = default;
};

/// What the run's folder says about all sites.
struct SitesView {
    std::vector<SiteView> sites;     ///< one per site, in the order of the run's file
    std::vector<std::string> notes;  ///< which files could not be read, and why
};

/// Reads poller/state.json and each site's sites/<SITE>/events.jsonl in the run's folder. A value
/// that is missing or damaged stays empty. A file that cannot be read adds a note.
[[nodiscard]] SitesView read_sites(config::Run const& run);

}  // namespace curtail::status
