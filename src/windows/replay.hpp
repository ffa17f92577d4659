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
    Millis max_age{600'000};  ///< a reading holds in [time, time + max_age)
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
    std::string explanation;  ///< one sentence with its numbers
    friend bool operator==(Change const&, Change const&) = default;
};

struct Replay {
    WindowState state;  ///< at `until`
    Time until;         ///< end of the evaluated interval; pass it to the next call
    std::optional<GramsPerKwh> intensity;  ///< the fresh intensity at `until`
    std::string explanation;               ///< why the window has its phase at `until`
    std::vector<Change> changes;           ///< in order of time
};

/// Evaluates a window from `until`, where the last evaluation left `before`, up to and including
/// `now`.
///
/// Applies every time at which something can change, in order: the time of each reading, the time
/// at which the newest reading becomes stale, and the end of a running close delay. The result
/// therefore does not depend on when or how often this function is called: one call for a day and
/// a thousand calls with arbitrary `now` give the same changes and the same state. A `now` before
/// `until` changes nothing.
///
/// A reading holds from its time until the next reading or until it is stale. An empty intensity
/// means that the provider has no value. `readings` must be in order of time and contain all known
/// readings in (until - max_age, now]. Of readings at equal times the last one counts; later ones
/// than `now` are ignored. A reading that became known after its time was evaluated counts from
/// `until` on. A first evaluation starts with a default state and `until` = `now`.
///
/// Throws std::invalid_argument if readings are out of order, close_above < open_below, max_age <=
/// 0 or close_delay < 0.
[[nodiscard]] Replay replay(WindowState const& before, Time until,
                            std::span<Reading const> readings, Rule const& rule, Time now);

}  // namespace curtail::windows
