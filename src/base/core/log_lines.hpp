// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <optional>
#include <string_view>

#include "base/core/time.hpp"

namespace curtail {

/// The lines of a log that do not count: damaged ones, and those that a crash cut short.
struct BrokenLines {
    int count{0};
    /// The time of the last good line before the first broken one; empty if there is none.
    std::optional<Time> after{};
    /// The time of the first good line after the last broken one; empty if there is none.
    std::optional<Time> before{};

    /// Counts the lines of other logs, too: `after` and `before` then enclose all of them.
    BrokenLines& operator+=(BrokenLines const& other);
    friend bool operator==(BrokenLines const&, BrokenLines const&) = default;
};

/// Finds the broken lines of one log. Call good() or broken() for each line, in order.
class BrokenLineFinder {
  public:
    void good(Time time);
    void broken();
    [[nodiscard]] BrokenLines const& found() const { return found_; }

  private:
    BrokenLines found_;
    std::optional<Time> last_good_{};
    bool is_after_broken_{false};
};

/// Calls `take` with each line of `text` that is not empty. `take` returns the time of the line, or
/// an empty optional if the line is broken. Returns the broken lines.
template <class Take>
BrokenLines read_lines(std::string_view text, Take const& take)
{
    BrokenLineFinder finder;
    while (!text.empty()) {
        auto const end = std::min(text.find('\n'), text.size());
        auto const line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        if (std::optional<Time> const time = take(line)) finder.good(*time);
        else finder.broken();
    }
    return finder.found();
}

}  // namespace curtail
