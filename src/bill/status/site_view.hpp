// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/core/time.hpp"
#include "bill/status/log_view.hpp"
#include "run/config/run.hpp"
#include "run/permission/hold.hpp"
#include "run/permission/permission.hpp"
#include "run/runlog/poller_state.hpp"
#include "run/runlog/trainer_events.hpp"

namespace curtail::status {

/// What the poller and the trainer last wrote about one site. The values may be out of date. Use
/// them only for display.
struct SiteView : runlog::PollerSite {
    std::string trainer;  ///< the trainer's last state, such as `training`; empty if not known
    int failures_before_hold{0};  ///< after so many failures in a row, the poller holds the site
    std::optional<Time> trainer_since;  ///< real time at which the trainer entered that state
    std::optional<permission::Permission> permission{};  ///< empty if no poller has served the site
    std::optional<permission::Hold>
        decision{};  ///< a person's last decision; empty if there is none
    /// All that the site has read from others, if it exchanges payloads over MPI.
    std::optional<runlog::PayloadsRead> payloads{};
    /// Real time up to which the site's logs are published, if only the store has them. Then the
    /// site's poller and trainer run elsewhere.
    std::optional<Time> published_until{};
    friend bool operator==(SiteView const&, SiteView const&) = default;
};

/// What the run's folder says about all sites.
struct SitesView {
    std::vector<SiteView> sites;  ///< one per site, in the order of the run's file
    /// Messages for the user. Each says why a file could not be read, or that no poller has run
    /// yet.
    std::vector<std::string> notes;
    /// Real time at which the poller last wrote its state; empty if it has written none.
    std::optional<Time> poller_wrote{};
};

/// Reads poller/state.json, and permission.json and hold.json of each site, in the run's folder. A
/// value that is missing or damaged keeps its default. Each file that cannot be read adds a note.
/// What state.json does not say about a site comes from the poller's events in `logs`; the state of
/// the trainer comes from the trainer's events. If nothing is known of any poller, adds a note.
[[nodiscard]] SitesView read_sites(config::Run const& run, LogView const& logs);

}  // namespace curtail::status
