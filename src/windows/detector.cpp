// SPDX-License-Identifier: Apache-2.0
#include "windows/detector.hpp"

#include <fmt/format.h>

#include <array>
#include <compare>
#include <stdexcept>

namespace curtail::windows {
namespace {

/// A number for a person: as few decimals as still show on which side of `threshold` it lies.
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

std::string against(std::optional<GramsPerKwh> intensity, char const* relation,
                    GramsPerKwh threshold)
{
    if (!intensity) return "no fresh signal";
    return fmt::format("{} g/kWh is {} {:g}", number(intensity->value, threshold.value), relation,
                       threshold.value);
}

/// `600 s`, `0.5 s`
std::string seconds(Millis duration)
{
    return fmt::format("{:g} s", FractionalSeconds(duration).count());
}

Time dirty_since(WindowState const& state)
{
    if (!state.closing_since) throw std::logic_error("window state is closing, but not since when");
    return *state.closing_since;
}

}  // namespace

Decision advance(WindowState const& before, std::optional<GramsPerKwh> intensity, Time now,
                 Thresholds const& rule)
{
    bool const dirty = !intensity || *intensity > rule.close_above;
    switch (before.phase) {
        case Phase::closed:
            if (intensity && *intensity < rule.open_below)
                return {{Phase::open, {}}, Reason::clean};
            return {before, intensity ? Reason::still_dirty : Reason::no_signal};
        case Phase::open:
            if (dirty)
                return {{Phase::closing, now},
                        intensity ? Reason::turned_dirty : Reason::no_signal};
            return {before, Reason::still_clean};
        case Phase::closing:
            if (!dirty) return {{Phase::open, {}}, Reason::recovered};
            if (now - dirty_since(before) >= rule.close_delay)
                return {{Phase::closed, {}}, Reason::delay_over};
            return {before, Reason::delay_running};
    }
    __builtin_unreachable();
}

std::string explain(WindowState const& before, Decision const& decision,
                    std::optional<GramsPerKwh> intensity, Time now, Thresholds const& rule)
{
    auto const closes_in = [&](Millis rest) {
        return "window closes in " + seconds(rest) + " unless it turns clean";
    };
    switch (decision.reason) {
        case Reason::clean:
            return against(intensity, "below", rule.open_below) + ": window opens";
        case Reason::still_dirty:
            return against(intensity, "not below", rule.open_below) + ": window stays closed";
        case Reason::no_signal:
            if (decision.state.phase == Phase::closed)
                return "no fresh signal, which counts as dirty: window stays closed";
            return "no fresh signal, which counts as dirty: " + closes_in(rule.close_delay);
        case Reason::still_clean:
            return against(intensity, "not above", rule.close_above) + ": window stays open";
        case Reason::turned_dirty:
            return against(intensity, "above", rule.close_above) + ": " +
                   closes_in(rule.close_delay);
        case Reason::delay_running: {
            auto const dirty_for = now - dirty_since(before);
            return fmt::format("{}, dirty for {}: {}",
                               against(intensity, "above", rule.close_above), seconds(dirty_for),
                               closes_in(rule.close_delay - dirty_for));
        }
        case Reason::recovered:
            return against(intensity, "no longer above", rule.close_above) + ": window stays open";
        case Reason::delay_over:
            return fmt::format("{}, dirty for {}, allowed are {}: window closes",
                               against(intensity, "above", rule.close_above),
                               seconds(now - dirty_since(before)), seconds(rule.close_delay));
    }
    __builtin_unreachable();
}

namespace {

constexpr std::array<std::string_view, 3> phase_names{"closed", "open", "closing"};

struct ReasonNames {
    std::string_view record;
    std::string_view people;
};
constexpr std::array<ReasonNames, 8> reason_names{{
    {"clean", "the signal is clean"},
    {"still-dirty", "the signal is dirty"},
    {"no-signal", "there is no fresh signal"},
    {"still-clean", "the signal is still clean"},
    {"turned-dirty", "the signal turned dirty"},
    {"delay-running", "the signal is dirty, but not for long"},
    {"recovered", "the signal is clean again"},
    {"delay-over", "the signal was dirty for too long"},
}};

}  // namespace

std::string_view to_string(Phase phase) { return phase_names.at(static_cast<std::size_t>(phase)); }
std::string_view to_string(Reason reason)
{
    return reason_names.at(static_cast<std::size_t>(reason)).record;
}
std::string_view words(Reason reason)
{
    return reason_names.at(static_cast<std::size_t>(reason)).people;
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
        else r.reject(time.error().within(r.place("closing_since")));
    }
    r.require(state.closing_since.has_value() == (state.phase == Phase::closing), "closing_since",
              "must be there exactly while closing");
    return state;
}

}  // namespace curtail::windows
