// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poller/poll/journal.hpp"
#include "poller/poll/site_record.hpp"
#include "run/runlog/event.hpp"

namespace curtail::poll {

/// An event that a poller writes, with its number. In each run, the numbers are 1, 2, 3, ...
struct NumberedEvent {
    std::int64_t number;
    runlog::Event event;
};

/// The content of the file `poller/state.json`.
struct StoredState {
    std::map<SiteId, SiteRecord> sites;
    std::int64_t last_entry{0};        ///< number of the newest journal entry that `sites` includes
    std::int64_t last_event{0};        ///< number of the newest event; 0 before the first
    std::deque<NumberedEvent> outbox;  ///< events that the sites' events.jsonl may not contain yet
    std::string folder_warning;        ///< the last one that the poller logged; empty if none holds

    /// Numbers the events of a site and appends them to the outbox.
    void add_events(SiteId const& site, std::vector<runlog::Event> events);
};

/// Returns `state` as JSON for the file `poller/state.json`.
[[nodiscard]] json::Value to_json(StoredState const& state);
/// Reads the state from the file `path`. Returns an empty optional if the file does not exist.
[[nodiscard]] Result<std::optional<StoredState>> read_state(std::filesystem::path const& path);

/// What a poller finds in its folder when it starts.
struct FolderContents {
    std::optional<StoredState> state;   ///< empty if state.json does not exist
    std::vector<JournalEntry> journal;  ///< the entries that `state` does not include, in order
    /// Content of the events.jsonl of all sites, one site after the other; empty if not read.
    std::vector<runlog::Event> events;
};
/// Reads state.json and journal.jsonl. If state.json is missing, also reads the newest rotated
/// journal and every events.jsonl. Also reads these if the outbox is not empty, or if the state
/// does not include all journal entries.
[[nodiscard]] Result<FolderContents> read_folder(std::filesystem::path const& folder);

}  // namespace curtail::poll
