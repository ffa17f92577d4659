// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/time.hpp"

namespace curtail {

/// One line of an `events.jsonl`: what happened when, for the report and for people. Never read
/// back to decide anything.
struct Event {
    Time time;         ///< real time at which it happened
    std::string type;  ///< `window-open`, `job-submitted`, `first-step`, ...
    std::string site;  ///< empty if it concerns no single site
    json::Object details;
};

/// Appends events, one line each. A crash may leave a broken line, which read_events counts and
/// skips.
class EventLog {
  public:
    explicit EventLog(std::filesystem::path path) : path_(std::move(path)) {}
    [[nodiscard]] Result<void> append(Event const& event) const;

  private:
    std::filesystem::path path_;
};

struct EventFile {
    std::vector<Event> events;
    int broken_lines{0};  ///< cut short by a crash of their writer
};
/// All whole lines of a file; a file that does not exist has none.
[[nodiscard]] Result<EventFile> read_events(std::filesystem::path const& path);

}  // namespace curtail
