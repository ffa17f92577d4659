// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/intensity.hpp"
#include "run/windows/detector.hpp"

// Evaluates a window over an interval of time, for a live signal as well as for a recorded trace.
// All times are on the signal's clock.
namespace curtail::windows {

/// The rule by which one site's window is evaluated.
struct Rule {
    Millis max_age{600'000};  ///< how long a sample is valid if no later sample replaces it
    Thresholds thresholds;
    friend bool operator==(Rule const&, Rule const&) = default;
};

/// One change of a window's phase.
struct PhaseChange {
    Time time;  ///< when the change was due, not when it was noticed
    Phase from;
    Phase to;
    Reason reason;                           ///< why the phase changed
    std::optional<GramsPerKwh> intensity{};  ///< intensity at `time`; empty if it is unknown
    std::string explanation{};  ///< one sentence for the user, with the numbers that caused the
                                ///< change
    /// The end of the last period until `time` in which the intensity was above close_above; empty
    /// if there was none.
    std::optional<Time> last_above{};
    friend bool operator==(PhaseChange const&, PhaseChange const&) = default;
};

/// The result of evaluating a window over an interval.
struct EvaluatedInterval {
    WindowState state;  ///< at `until`
    Time until;         ///< end of the evaluated interval; the parameter `from` of the next call
    std::optional<GramsPerKwh> intensity;  ///< the intensity valid at `until`; empty if it is
                                           ///< unknown
    std::optional<Time> last_above;        ///< as PhaseChange::last_above, until `until`
    std::string explanation{};             ///< why the window has its phase at `until`
    std::vector<PhaseChange> changes{};    ///< in order of time
};

/// Evaluates a window over the interval from `from` to `now`, both included. `before` is the
/// window's state at `from`.
///
/// Evaluates the window, in order of time, at `from` and at every later instant at which something
/// can change. These instants are the times of the samples, each time at which a sample becomes
/// stale, and the end of a running close delay. If `now` is before `from`, the window is evaluated
/// only at `from`.
///
/// A sample is valid from its time until the time of the next sample, but for at most `max_age`. If
/// no next sample comes within `max_age`, the sample becomes stale. The intensity is then unknown
/// until the next sample. A sample without an intensity says that the provider had no value at that
/// time.
///
/// `points` must be in order of time, and must contain all known samples in (from - max_age,
/// now]. If several samples have the same time, the last of them counts. Samples later than `now`
/// are ignored.
///
/// In the first call, `before` is a default-constructed state, `from` is the start of the whole
/// evaluation, and `last_above` is empty. In each further call, pass the last result's `state`,
/// `until` and `last_above`. Such a series of calls gives the same changes and the same state as
/// one call for the whole time. The only exception is a late sample. A sample is late if an earlier
/// call evaluated the window at or after the sample's time, without the sample. A call that
/// receives a late sample uses this sample only from the call's `from` on; earlier changes stay as
/// they are.
///
/// Throws std::invalid_argument if samples are out of order, close_above < open_below, max_age <=
/// 0 or close_delay < 0.
[[nodiscard]] EvaluatedInterval evaluate_interval(WindowState const& before, Time from,
                                                  std::span<SamplePoint const> points,
                                                  Rule const& rule, Time now,
                                                  std::optional<Time> last_above = {});

}  // namespace curtail::windows
