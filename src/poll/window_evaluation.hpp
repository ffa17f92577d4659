// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "poll/site_record.hpp"
#include "poll/status.hpp"
#include "runlog/event.hpp"
#include "signals/sample.hpp"
#include "windows/replay.hpp"

/// The window half of a poll, from samples to a new window. Pure: no clock, no I/O.
namespace curtail::poll {

/// A window record checked against the signals' clock.
struct ClockCheck {
    WindowRecord record;
    std::optional<Error> error;  ///< `temporary`: the clock was set back
};
/// A window that was evaluated up to a future time would not change until then. With a live signal
/// the evaluation continues from now. A replay waits: its clock will reach that time again and find
/// the same samples.
[[nodiscard]] ClockCheck check_clock(WindowRecord record, Time signal_now, bool is_replay);

struct WindowInput {
    SiteId const& site;
    WindowRecord const& before;
    std::vector<signals::Sample> const& samples;  ///< in order of time
    windows::Rule const& rule;
    Time from;        ///< start of the evaluation, on the signals' clock
    Time signal_now;  ///< its end
    Time real_now;    ///< time of the events
};
struct WindowEvaluation {
    WindowRecord after;
    std::vector<runlog::Event> events;
    std::vector<std::string> log;  ///< a line per change of phase
    SignalStatus status;
    [[nodiscard]] bool phase_changed() const { return !log.empty(); }
};
/// Applies every sample up to `signal_now`, each at its own time.
[[nodiscard]] WindowEvaluation evaluate_window(WindowInput const& input);

/// The status of a window that is not evaluated, for a poll without a provider.
[[nodiscard]] SignalStatus stored_status(WindowRecord const& record, Time signal_now);

}  // namespace curtail::poll
