// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/time.hpp"

/// The logs that a run's programs append to (docs/formats-run.md): `events.jsonl` of the poller and
/// of each site, `metrics.jsonl` of each site. Each kind of line has its writer and its reader
/// here.
namespace curtail::runlog {

/// One line of an `events.jsonl`, for people and for reports. Programs write typed events
/// (poller_events.hpp, trainer_events.hpp).
struct Event {
    Time time;         ///< real
    std::string type;  ///< `window-open`, `job-submitted`, `first-step`, ...
    std::string site;  ///< empty if the event concerns no single site
    json::Object details;

    /// Lenient reading of a detail, for files that other versions wrote. A number is read as its
    /// JSON text; a missing or null detail is empty.
    [[nodiscard]] std::string text(char const* key) const;
    /// Empty if the detail is missing or of another type.
    [[nodiscard]] std::optional<std::int64_t> integer(char const* key) const;
    [[nodiscard]] std::optional<double> number(char const* key) const;
    [[nodiscard]] std::optional<Time> time_of(char const* key) const;  ///< written as text
};

/// Appends events to a file, one line each. A crash may leave a partial line, which read_events
/// counts and skips.
class EventLog {
  public:
    explicit EventLog(std::filesystem::path path) : path_(std::move(path)) {}
    [[nodiscard]] Result<void> append(Event const& event) const;

  private:
    std::filesystem::path path_;
};

struct EventFile {
    std::vector<Event> events;
    int broken_lines{0};  ///< left by a writer that crashed, or damaged
};
/// All complete lines of a file; no events if the file does not exist.
[[nodiscard]] Result<EventFile> read_events(std::filesystem::path const& path);

}  // namespace curtail::runlog
