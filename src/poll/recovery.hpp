// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "poll/stored_state.hpp"

// How a poller continues after the previous one, which may have been killed at any time. The
// functions read no clock and do no I/O.
namespace curtail::poll {

/// For each site and event type: the latest time, on the signal's clock, that an event of this site
/// and type has in events.jsonl. Events without such a time are left out.
using WrittenUntil = std::map<std::pair<SiteId, std::string>, Time>;

/// The state with which a poller starts.
struct Recovered {
    StoredState state;
    WrittenUntil written_until;  ///< filled only if state.json is missing
};

/// Computes the state with which a poller starts. The state has a record of each of `sites`. `now`
/// is real time.
///
/// Applies the journal entries that the stored state does not include. Removes an event from the
/// outbox if events.jsonl already contains it.
///
/// If state.json is missing, rebuilds two things from the journal and the events: the intents that
/// have no outcome, and the jobs that have not ended. In that case, also fills `written_until`.
/// is_written() then recognizes the window events that events.jsonl already contains.
[[nodiscard]] Recovered recover(FolderContents contents, std::vector<SiteId> const& sites,
                                Time now);

/// Returns whether `written` shows that events.jsonl already contains `event`. Returns false for an
/// event without a time on the signal's clock.
[[nodiscard]] bool is_written(WrittenUntil const& written, SiteId const& site,
                              runlog::Event const& event);

}  // namespace curtail::poll
