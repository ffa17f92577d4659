// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/core/json.hpp"
#include "base/core/log_lines.hpp"
#include "base/core/time.hpp"

// Reads and writes files named `events.jsonl` (docs/formats-run.md). The poller writes one such
// file, and the trainer of each site writes one.
namespace curtail::runlog {

/// One line of an `events.jsonl`. The details of the events are defined in poller_events.hpp,
/// trainer_events.hpp and, for the round protocol, protocol/site/notes.hpp.
struct Event {
    Time time{};           ///< real time
    std::string type{};    ///< `window-open`, `job-submitted`, `first-step`, ...
    std::string site{};    ///< empty if the event does not belong to a site
    json::Object details;  ///< all other keys of the line

    /// Returns the detail `key` as text. If the detail has another type, returns its JSON text. If
    /// the detail is missing or null, returns an empty text.
    [[nodiscard]] std::string text(char const* key) const;
    /// Returns the detail `key`. This function, number() and time_of() return an empty optional if
    /// the detail is missing or has another type.
    [[nodiscard]] std::optional<std::int64_t> integer(char const* key) const;
    [[nodiscard]] std::optional<double> number(char const* key) const;
    /// Also returns an empty optional if the detail is a text that parse_time() rejects.
    [[nodiscard]] std::optional<Time> time_of(char const* key) const;
};

/// Appends events to a file, one line per event. A crash may leave an incomplete line, which
/// read_events() skips and counts.
class EventLog {
  public:
    explicit EventLog(std::filesystem::path path) : path_(std::move(path)) {}
    [[nodiscard]] Result<void> append(Event const& event) const;

  private:
    std::filesystem::path path_;
};

/// The content of an `events.jsonl`.
struct EventFile {
    std::vector<Event> events;
    BrokenLines broken_lines{};  ///< the damaged or incomplete lines, which are skipped
};
/// Reads all valid lines of a text.
[[nodiscard]] EventFile parse_events(std::string_view text);
/// Reads all valid lines of a file. A missing file counts as empty.
[[nodiscard]] Result<EventFile> read_events(std::filesystem::path const& path);

}  // namespace curtail::runlog
