// SPDX-License-Identifier: Apache-2.0
#include "run/windows/detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace curtail::windows {
namespace {

// Formats a number with the fewest decimals that show on which side of `threshold` it lies.
std::string number(double value, double threshold)
{
    std::string text;
    for (int decimals = 0; decimals <= 9; ++decimals) {
        text = fmt::format("{:.{}f}", value, decimals);
        if (std::partial_order(std::stod(text), threshold) == std::partial_order(value, threshold))
            break;
    }
    return text;
}

std::string compare(std::optional<GramsPerKwh> intensity, char const* relation,
                    GramsPerKwh threshold)
{
    if (!intensity) return "no fresh signal";
    return fmt::format("{} g/kWh is {} {:g}", number(intensity->value, threshold.value), relation,
                       threshold.value);
}

// `600 s`, `0.5 s`
std::string seconds(Millis duration)
{
    return fmt::format("{:g} s", FractionalSeconds(duration).count());
}

Time dirty_since(WindowState const& state)
{
    if (!state.closing_since) throw std::logic_error("a closing window state lacks closing_since");
    return *state.closing_since;
}

std::string closes_in(Millis remaining)
{
    return "window closes in " + seconds(remaining) + " unless the signal turns clean";
}

// Explains why a window stays closing or closes, after the signal was dirty for `dirty_for`.
std::string explain_delay(Reason reason, std::optional<GramsPerKwh> intensity, Millis dirty_for,
                          Thresholds const& thresholds)
{
    auto const signal = compare(intensity, "above", thresholds.close_above);
    if (reason == Reason::delay_running)
        return fmt::format("{}, dirty for {}: {}", signal, seconds(dirty_for),
                           closes_in(thresholds.close_delay - dirty_for));
    return fmt::format("{}, dirty for {}, limit {}: window closes", signal, seconds(dirty_for),
                       seconds(thresholds.close_delay));
}

}  // namespace

Decision advance(WindowState const& before, std::optional<GramsPerKwh> intensity, Time now,
                 Thresholds const& thresholds)
{
    bool const is_dirty = !intensity || *intensity > thresholds.close_above;
    switch (before.phase) {
        case Phase::closed:
            if (!intensity) return {before, Reason::no_signal};
            if (*intensity < thresholds.open_below) return {{Phase::open, {}}, Reason::clean};
            return {before, Reason::still_dirty};
        case Phase::open:
            if (!intensity) return {{Phase::closing, now}, Reason::no_signal};
            if (is_dirty) return {{Phase::closing, now}, Reason::turned_dirty};
            return {before, Reason::still_clean};
        case Phase::closing:
            if (!is_dirty) return {{Phase::open, {}}, Reason::recovered};
            if (now - dirty_since(before) >= thresholds.close_delay)
                return {{Phase::closed, {}}, Reason::delay_over};
            return {before, Reason::delay_running};
    }
    __builtin_unreachable();
}

std::string explain(WindowState const& before, Decision const& decision,
                    std::optional<GramsPerKwh> intensity, Time now, Thresholds const& thresholds)
{
    switch (decision.reason) {
        case Reason::clean:
            return compare(intensity, "below", thresholds.open_below) + ": window opens";
        case Reason::still_dirty:
            return compare(intensity, "not below", thresholds.open_below) + ": window stays closed";
        case Reason::no_signal:
            return "no fresh signal, which counts as dirty: " +
                   (decision.state.phase == Phase::closed ? "window stays closed"
                                                          : closes_in(thresholds.close_delay));
        case Reason::still_clean:
            return compare(intensity, "not above", thresholds.close_above) + ": window stays open";
        case Reason::turned_dirty:
            return compare(intensity, "above", thresholds.close_above) + ": " +
                   closes_in(thresholds.close_delay);
        case Reason::delay_running:
        case Reason::delay_over:
            return explain_delay(decision.reason, intensity, now - dirty_since(before), thresholds);
        case Reason::recovered:
            return compare(intensity, "no longer above", thresholds.close_above) +
                   ": window stays open";
    }
    __builtin_unreachable();
}

namespace {

constexpr std::array<std::string_view, 3> phase_names{"closed", "open", "closing"};

constexpr std::array<std::string_view, 8> reason_names{
    "clean",        "still-dirty",   "no-signal", "still-clean",
    "turned-dirty", "delay-running", "recovered", "delay-over"};

template <class Value, std::size_t count>
std::optional<Value> value_named(std::array<std::string_view, count> const& names,
                                 std::string_view name)
{
    auto const found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<Value>(found - names.begin());
}

}  // namespace

std::string_view to_string(Phase phase) { return phase_names.at(static_cast<std::size_t>(phase)); }
std::string_view to_string(Reason reason)
{
    return reason_names.at(static_cast<std::size_t>(reason));
}

std::optional<Phase> parse_phase(std::string_view name)
{
    return value_named<Phase>(phase_names, name);
}
std::optional<Reason> parse_reason(std::string_view name)
{
    return value_named<Reason>(reason_names, name);
}

json::Object to_json(WindowState const& state)
{
    json::Value since;
    if (state.closing_since) since = format_time(*state.closing_since);
    return {{"phase", to_string(state.phase)}, {"closing_since", since}};
}

WindowState read_window_state(json::ObjectReader& r)
{
    WindowState state;
    state.phase = static_cast<Phase>(r.one_of("phase", {phase_names.begin(), phase_names.end()}));
    if (auto const since = r.optional_text("closing_since")) {
        if (auto const time = parse_time(*since)) state.closing_since = *time;
        else r.reject(time.error().with_context(r.place("closing_since")));
    }
    r.require(state.closing_since.has_value() == (state.phase == Phase::closing), "closing_since",
              "must be set if and only if the phase is closing");
    return state;
}

}  // namespace curtail::windows
