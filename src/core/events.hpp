// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/time.hpp"

namespace curtail {

/// One line of an `events.jsonl`: what happened and when, for the report and for people. No
/// decision reads events.
struct Event {
    Time time;         ///< real time
    std::string type;  ///< `window-open`, `job-submitted`, `first-step`, ...
    std::string site;  ///< empty if the event belongs to no single site
    json::Object details;
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
    int broken_lines{0};  ///< left by a writer that crashed
};
/// All complete lines of a file; no events if the file does not exist.
[[nodiscard]] Result<EventFile> read_events(std::filesystem::path const& path);

}  // namespace curtail
