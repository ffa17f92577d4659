// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/intensity.hpp"
#include "windows/detector.hpp"

namespace curtail::windows {

/// How one site's window is evaluated.
struct Rule {
    Millis max_age{600'000};  ///< a reading counts in [time, time + max_age)
    Thresholds thresholds;
    friend bool operator==(Rule const&, Rule const&) = default;
};

/// One change of phase, at the time at which it was due.
struct Change {
    Time time;
    Phase from;
    Phase to;
    Reason reason;
    std::optional<GramsPerKwh> intensity;
    std::string explanation;  ///< one sentence with the numbers
    friend bool operator==(Change const&, Change const&) = default;
};

struct Replay {
    WindowState state;  ///< at `until`
    Time until;         ///< evaluated up to here; to be given back to the next call
    std::optional<GramsPerKwh> intensity;  ///< the fresh one at `until`
    std::string explanation;               ///< why the phase at `until` is what it is
    std::vector<Change> changes;           ///< in order of time
};

/// Evaluates a window from `until`, where the last evaluation left `before`, up to and including
/// `now`.
///
/// Every moment at which something can change is applied in order, each at its own time: each
/// reading's time, the moment the newest reading becomes stale, the end of a running close delay.
/// So the answer does not depend on when or how often this is called: one call for a day and a
/// thousand calls with arbitrary `now` give the same changes and the same state. A `now` before
/// `until` changes nothing.
///
/// A reading is in force from its time until the next reading or until it is stale. Without an
/// intensity it says that the provider has no value.
///
/// `readings` must be in order of time (equal times: the last one counts) and hold everything known
/// in (until - max_age, now]; later ones are not looked at. A reading that became known only after
/// `until` had passed its time counts from `until` on. A first evaluation starts with a default
/// state and `until` = `now`.
///
/// Throws std::invalid_argument if readings are out of order, close_above < open_below, max_age <=
/// 0 or close_delay < 0.
[[nodiscard]] Replay replay(WindowState const& before, Time until,
                            std::span<Reading const> readings, Rule const& rule, Time now);

}  // namespace curtail::windows
