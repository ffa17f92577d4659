// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "poll/stored_state.hpp"

/// How a poller continues after its predecessor, which may have died at any time. Pure: no clock,
/// no I/O.
namespace curtail::poll {

/// By site and event type: the signal time up to which events.jsonl contains the events.
using WrittenUntil = std::map<std::pair<SiteId, std::string>, Time>;

struct Recovered {
    StoredState state;
    WrittenUntil written_until;  ///< only after the loss of state.json
};

/// The state with which a poller starts, with a record of each of `sites`.
///
/// Applies the journal entries that the state does not include, and drops events that have reached
/// events.jsonl from the outbox. Without state.json the journal and the events yield an open intent
/// and the jobs that have not ended; the same events are not written again.
[[nodiscard]] Recovered recover(FolderContents contents, std::vector<SiteId> const& sites,
                                Time now);

/// Whether an event is in events.jsonl already.
[[nodiscard]] bool is_written(WrittenUntil const& written, SiteId const& site,
                              runlog::Event const& event);

}  // namespace curtail::poll
