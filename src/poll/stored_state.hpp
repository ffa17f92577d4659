// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "poll/journal.hpp"
#include "poll/site_record.hpp"
#include "runlog/event.hpp"

namespace curtail::poll {

struct NumberedEvent {
    std::int64_t number;
    runlog::Event event;
};

/// The content of `poller/state.json`.
struct StoredState {
    std::map<SiteId, SiteRecord> sites;
    std::int64_t last_entry{0};        ///< newest journal entry that `sites` includes
    std::int64_t last_event{0};        ///< highest number of an event
    std::deque<NumberedEvent> outbox;  ///< events that may not be in events.jsonl yet

    /// Numbers events of a site and puts them into the outbox.
    void add_events(SiteId const& site, std::vector<runlog::Event> events);
};

[[nodiscard]] json::Value to_json(StoredState const& state);
/// Reads the file; empty if it does not exist.
[[nodiscard]] Result<std::optional<StoredState>> read_state(std::filesystem::path const& path);

/// What a poller finds in its folder when it starts.
struct FolderContents {
    std::optional<StoredState> state;
    std::vector<JournalEntry> journal;  ///< entries that `state` does not include, in order
    std::vector<runlog::Event> events;  ///< of events.jsonl, if recovery needs them
};
/// Reads state.json, journal.jsonl and events.jsonl; without state.json the rotated journal too.
[[nodiscard]] Result<FolderContents> read_folder(std::filesystem::path const& folder);

}  // namespace curtail::poll
