// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "poller/poll/site_record.hpp"
#include "poller/poll/status.hpp"
#include "run/runlog/event.hpp"
#include "run/samples/sample.hpp"
#include "run/windows/evaluate_interval.hpp"

// The part of a poll that concerns the window. The functions compute the window's new state from
// samples. They read no clock and do no I/O.
namespace curtail::poll {

/// A window's record after check_clock().
struct ClockCheck {
    WindowRecord record;
    std::optional<Error> error;  ///< set, with the code `temporary`, if the signal's
                                 ///< clock was set back
};
/// Checks whether the signal's clock was set back. `signal_now` is the clock's time. The clock
/// counts as set back if `signal_now` is more than 5 s before record.evaluated_until.
///
/// If a live signal's clock was set back, evaluated_until in the returned record is `signal_now`. A
/// closing_since later than `signal_now` also becomes `signal_now`. The evaluation then continues
/// from `signal_now`.
///
/// In all other cases, returns the record unchanged. If a replay's clock was set back, the window
/// keeps its phase until the clock reaches evaluated_until again.
[[nodiscard]] ClockCheck check_clock(WindowRecord record, Time signal_now, bool is_replay);

/// What evaluate_window() needs.
struct WindowInput {
    SiteId const& site;
    WindowRecord const& before;
    std::vector<samples::Sample> const& samples;  ///< in order of time
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
    std::string warning{};  ///< that the signal is slower than the site's max_age; given once
    SignalStatus status;
    [[nodiscard]] bool phase_changed() const { return !log.empty(); }
};
/// Evaluates a window from `from` to `signal_now`. Each event has, as a detail, the time on the
/// signal's clock at which the change of phase was due. This time may be earlier than `signal_now`.
[[nodiscard]] WindowEvaluation evaluate_window(WindowInput const& input);

/// Describes a window that is not evaluated, because the poll has no provider. If the window was
/// never evaluated, SignalStatus::time is `signal_now`.
[[nodiscard]] SignalStatus stored_status(WindowRecord const& record, Time signal_now);

}  // namespace curtail::poll
