// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "poller/poll/site_record.hpp"
#include "run/permission/hold.hpp"
#include "run/permission/operator_hold.hpp"
#include "run/runlog/event.hpp"

// What keeps a site from training although its window is open: a person's decision, or a hold that
// the poller itself put on the site. The functions read no clock and do no I/O.
namespace curtail::poll {

/// What people have decided about a site.
struct Decisions {
    /// The newest decision of a person who operates the run; empty if there is none. An error if it
    /// is unreadable.
    Result<std::optional<permission::Hold>> person;
    std::optional<permission::OperatorHold> operators{};  ///< a hold of the centre's operators
};

/// The result of update_holds().
struct HoldUpdate {
    HoldRecord holds;
    bool resumed{false};  ///< a person resumed the site: its failures no longer count
    std::vector<runlog::Event> events;
    std::vector<std::string> log;  ///< one line per change
};
/// Puts an automatic hold on the site if there is none and `request` asks for one. Releases it:
///
/// - if a person has resumed the site since the hold
/// - after a cancel: if a new window has opened, and the intensity was above the threshold between
///   the hold and the new window. A missing signal is not enough.
///
/// `site` is the record before the update. `now` is real time.
[[nodiscard]] HoldUpdate update_holds(SiteId const& id, SiteRecord const& site,
                                      std::optional<plan::HoldRequest> const& request,
                                      Decisions const& decisions, Time now);

/// Returns why the site must not train although its window may be open: who holds it, and what to
/// do. Returns an empty text if nothing holds it. An unreadable decision holds the site.
[[nodiscard]] std::string hold_reason(HoldRecord const& holds, Decisions const& decisions);

}  // namespace curtail::poll
