// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "poller/poll/site_record.hpp"
#include "run/permission/hold.hpp"
#include "run/runlog/event.hpp"

// What keeps a site from training although its window is open: a person's decision, or a hold that
// the poller itself put on the site. The functions read no clock and do no I/O.
namespace curtail::poll {

/// A person's newest decision about a site; empty if there is none. An error if it is unreadable.
using SavedHold = Result<std::optional<permission::Hold>>;

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
                                      SavedHold const& saved, Time now);

/// Returns why the site must not train although its window may be open: who holds it, and what to
/// do. Returns an empty text if nothing holds it. An unreadable decision holds the site.
[[nodiscard]] std::string hold_reason(HoldRecord const& holds, SavedHold const& saved);

}  // namespace curtail::poll
