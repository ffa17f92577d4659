// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/window_evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "run/runlog/poller_events.hpp"

namespace curtail::poll {
namespace {

// Clocks of one site may differ this much.
constexpr Seconds clock_tolerance{5};

std::vector<SamplePoint> points_of(std::vector<samples::Sample> const& samples)
{
    std::vector<SamplePoint> points;
    points.reserve(samples.size());
    for (auto const& sample : samples)
        points.push_back(
            {sample.time, samples::intensity_of_type(sample, samples::SignalType::marginal)});
    return points;
}

// Adds the events of one change of phase, and opens or closes the window.
void apply_change(WindowEvaluation& result, WindowInput const& input,
                  windows::PhaseChange const& change)
{
    result.events.push_back(runlog::to_event(change, input.real_now, input.site.value));
    auto& open = result.after.open;
    bool const could_run = windows::may_run(change.from);
    bool const can_run = windows::may_run(change.to);
    if (!could_run && can_run) {
        open = WindowId{format_time(change.time)};
        result.after.above_before_open = change.last_above;
    }
    if (could_run != can_run) {
        runlog::WindowChange const event{can_run, open.value_or(WindowId{}).value, change.time};
        result.events.push_back(runlog::to_event(event, input.real_now, input.site.value));
    }
    if (!can_run) open.reset();
}

// The warning about a signal that is too slow for the site, if it has not been given yet.
std::string warn_of_period(WindowInput const& input, WindowRecord& after)
{
    if (input.samples.empty() || !input.samples.back().period) return {};
    auto const period = *input.samples.back().period;
    if (period <= input.rule.max_age || period <= after.warned_period) return {};
    after.warned_period = period;
    return fmt::format(
        "{}: the signal has one value every {}, but a value counts for {} (signal_max_age_s): the "
        "window closes in between; set signal_max_age_s to {} or more",
        input.site.value, format_duration(period), format_duration(input.rule.max_age),
        std::chrono::ceil<Seconds>(period).count());
}

SignalStatus signal_status(WindowInput const& input, windows::EvaluatedInterval const& evaluated)
{
    SignalStatus status;
    status.time = evaluated.until;
    status.intensity = evaluated.intensity;
    status.phase = evaluated.state.phase;
    status.why = evaluated.explanation;
    auto const later = std::ranges::find_if(
        input.samples, [&](auto const& sample) { return sample.time > input.signal_now; });
    if (later == input.samples.begin()) return status;
    auto const& newest = *std::prev(later);
    status.sample_time = newest.time;
    status.provider = newest.provider;
    status.sample_is_empty = !samples::intensity_of_type(newest, samples::SignalType::marginal);
    return status;
}

}  // namespace

ClockCheck check_clock(WindowRecord record, Time signal_now, bool is_replay)
{
    auto const until = record.evaluated_until;
    if (!until || *until <= signal_now + clock_tolerance) return {std::move(record), {}};
    Error error{ExitCode::temporary, "the clock was set back",
                "the window was evaluated up to " + format_time(*until) + ", and the time is " +
                    format_time(signal_now),
                is_replay ? "no decision is made until then"
                          : "evaluation continues from now; check this machine's clock"};
    if (is_replay) return {std::move(record), std::move(error)};
    record.evaluated_until = signal_now;
    for (auto* time : {&record.state.closing_since, &record.last_above, &record.above_before_open})
        if (*time) *time = std::min(**time, signal_now);
    return {std::move(record), std::move(error)};
}

WindowEvaluation evaluate_window(WindowInput const& input)
{
    auto const evaluated =
        windows::evaluate_interval(input.before.state, input.from, points_of(input.samples),
                                   input.rule, input.signal_now, input.before.last_above);
    WindowEvaluation result;
    result.after = input.before;
    result.after.state = evaluated.state;
    result.after.evaluated_until = evaluated.until;
    result.after.last_above = evaluated.last_above;
    for (auto const& change : evaluated.changes) {
        apply_change(result, input, change);
        result.log.push_back(fmt::format(
            "{}: {} -> {} at {}: {}", input.site.value, windows::to_string(change.from),
            windows::to_string(change.to), format_time(change.time), change.explanation));
    }
    result.status = signal_status(input, evaluated);
    result.warning = warn_of_period(input, result.after);
    return result;
}

SignalStatus stored_status(WindowRecord const& record, Time signal_now)
{
    SignalStatus status;
    status.requested = false;
    status.time = record.evaluated_until.value_or(signal_now);
    status.phase = record.state.phase;
    status.why = record.evaluated_until ? "as of the last evaluation" : "never evaluated";
    return status;
}

}  // namespace curtail::poll
