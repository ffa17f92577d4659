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
/// Checks whether the clock was set back: whether the last evaluation ended at a time more than 5 s
/// after `signal_now`.
///
/// If the clock was set back and the signal is live, the returned record lets the evaluation
/// continue from `signal_now`. Otherwise the record is returned unchanged. In a replay whose clock
/// was set back, the window then stays as it is until the clock has caught up.
[[nodiscard]] ClockCheck check_clock(WindowRecord record, Time signal_now, bool is_replay);

/// What evaluate_window() needs.
struct WindowInput {
    SiteId const& site;
    WindowRecord const& before;
    std::vector<signals::Sample> const& samples;  ///< in order of time
    windows::Rule const& rule;
    Time from;        ///< start of the evaluation, on the signal's clock
    Time signal_now;  ///< end of the evaluation, on the signal's clock
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
/// Evaluates a window from `from` to `signal_now`. Each change of phase has the time at which it
/// was due, not the time of the poll.
[[nodiscard]] WindowEvaluation evaluate_window(WindowInput const& input);

/// Describes a window that is not evaluated, because the poll has no provider.
[[nodiscard]] SignalStatus stored_status(WindowRecord const& record, Time signal_now);

}  // namespace curtail::poll
