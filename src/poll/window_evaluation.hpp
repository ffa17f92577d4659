// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "poll/site_record.hpp"
#include "poll/status.hpp"
#include "runlog/event.hpp"
#include "signals/sample.hpp"
#include "windows/evaluate_interval.hpp"

// The part of a poll that concerns the window: computes the new window from samples. The functions
// read no clock and do no I/O.
namespace curtail::poll {

/// A window's record after check_clock().
struct ClockCheck {
    WindowRecord record;
    std::optional<Error> error;  ///< set, with the code `temporary`, if the clock was set back
};
/// Checks whether `record` was evaluated up to a time after `signal_now`, because the clock was set
/// back. Such a window would not change until that time. With a live signal the result is changed
/// so that the evaluation continues from `signal_now`. In a replay `record` stays unchanged: the
/// clock will reach that time again and find the same samples.
[[nodiscard]] ClockCheck check_clock(WindowRecord record, Time signal_now, bool is_replay);

/// What evaluate_window() needs.
struct WindowInput {
    SiteId const& site;
    WindowRecord const& before;
    std::vector<signals::Sample> const& samples;  ///< in order of time
    windows::Rule const& rule;
    Time from;        ///< start of the evaluation, on the signals' clock
    Time signal_now;  ///< end of the evaluation, on the signals' clock
    Time real_now;    ///< real time, which becomes the time of the events
};
/// The result of evaluate_window().
struct WindowEvaluation {
    WindowRecord after;
    std::vector<runlog::Event> events;
    std::vector<std::string> log;  ///< one line per change of phase
    SignalStatus status;
    [[nodiscard]] bool phase_changed() const { return !log.empty(); }
};
/// Evaluates a window with every sample up to `signal_now`, each at its own time.
[[nodiscard]] WindowEvaluation evaluate_window(WindowInput const& input);

/// Describes a window that is not evaluated, because the poll has no provider.
[[nodiscard]] SignalStatus stored_status(WindowRecord const& record, Time signal_now);

}  // namespace curtail::poll
