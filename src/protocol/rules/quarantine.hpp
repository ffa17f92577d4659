// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "protocol/records/record.hpp"

// Sites whose contributions were refused several times in a row (docs/rounds.md).
namespace curtail::protocol {

/// Counts contributions of a member that were refused in a row, and the quarantine that follows
/// from them. Both next() and check() apply these functions to a commit under construction.
void count_refusal(std::optional<Refusal> refused, Member& member);
/// Starts the quarantine of a site: 5 times `round_time` from the commit's time.
void begin_quarantine(RunSpec const& run, SiteId const& site, Refusal reason, Commit& commit);
/// Removes quarantines that have ended at the commit's time.
void end_quarantines(Commit& commit);

/// Returns true if a commit after `tip`, made at `now`, may admit a member of the site. The terms
/// must list the site, and the site must not be in quarantine.
[[nodiscard]] bool may_enter(Commit const& tip, SiteId const& site, Time now);
/// Returns the quarantine of the site at `now`, or null.
[[nodiscard]] Quarantine const* quarantine_of(Commit const& tip, SiteId const& site, Time now);

}  // namespace curtail::protocol
