// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/time.hpp"

// Reads and writes `events.jsonl`, to which the poller and each site's trainer append
// (docs/formats-run.md).
namespace curtail::runlog {

/// One line of an `events.jsonl`. For each type of event, poller_events.hpp or trainer_events.hpp
/// declares a struct with its details.
struct Event {
    Time time;             ///< real time
    std::string type;      ///< `window-open`, `job-submitted`, `first-step`, ...
    std::string site;      ///< empty if the event concerns no single site
    json::Object details;  ///< all other keys of the line

    /// Returns the detail `key` as text. A detail of another type is returned as its JSON text. If
    /// the detail is missing or null, the text is empty.
    [[nodiscard]] std::string text(char const* key) const;
    /// Returns the detail `key`. This function and the next two return an empty optional if the
    /// detail is missing or has another type.
    [[nodiscard]] std::optional<std::int64_t> integer(char const* key) const;
    [[nodiscard]] std::optional<double> number(char const* key) const;
    [[nodiscard]] std::optional<Time> time_of(char const* key) const;  ///< stored as text
};

/// Appends events to a file, one line per event. A crash may leave an incomplete line; read_events
/// skips and counts it.
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
    int broken_lines{0};  ///< skipped lines: damaged, or incomplete because their writer crashed
};
/// Reads all valid lines of a file. A missing file counts as empty.
[[nodiscard]] Result<EventFile> read_events(std::filesystem::path const& path);

}  // namespace curtail::runlog
