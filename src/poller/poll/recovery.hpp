// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "poller/poll/stored_state.hpp"

// How a poller continues after the previous one, which may have been killed at any time. The
// functions read no clock and do no I/O.
namespace curtail::poll {

/// Computes the state with which a poller starts. The state has a record of each of `sites`. `now`
/// is real time.
///
/// Applies the journal entries that the stored state does not include. Removes an event from the
/// outbox if the site's events.jsonl already contains it.
///
/// If state.json is missing, rebuilds two things from the journal and the events: the intents that
/// have no outcome, and the jobs that have not ended. In that case, also fills
/// SiteRecord::written_until. is_written() then recognizes the window events that events.jsonl
/// already contains.
[[nodiscard]] StoredState recover(FolderContents contents, std::vector<SiteId> const& sites,
                                  Time now);

/// Returns whether events.jsonl already contains `event`, according to SiteRecord::written_until of
/// its site. Returns false for an event without a time on the signal's clock.
[[nodiscard]] bool is_written(SiteRecord const& site, runlog::Event const& event);

}  // namespace curtail::poll
