// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace curtail::windows {

/// When a site's window opens and closes. The defaults are those of the reference experiment.
struct Thresholds {
    GramsPerKwh open_below{100};
    GramsPerKwh close_above{100};  ///< >= open_below; the difference is the hysteresis
    Millis close_delay{600'000};   ///< how long the signal must be dirty before the window closes
    friend bool operator==(Thresholds const&, Thresholds const&) = default;
};

enum class Phase {
    closed,
    open,
    closing  ///< dirty for less than close_delay; jobs still run
};

/// One site's window after the last evaluation. Value type: stored as JSON, compared in tests.
struct WindowState {
    Phase phase{Phase::closed};
    std::optional<Time> closing_since;  ///< set if and only if the phase is `closing`
    friend bool operator==(WindowState const&, WindowState const&) = default;
};

/// A job may run in `open` and in `closing`.
[[nodiscard]] constexpr bool may_run(Phase phase) { return phase != Phase::closed; }

enum class Reason {
    clean,          ///< closed -> open: intensity below open_below
    still_dirty,    ///< stays closed: intensity not below open_below
    no_signal,      ///< stays closed, or open -> closing: no fresh signal, which counts as dirty
    still_clean,    ///< stays open: intensity not above close_above
    turned_dirty,   ///< open -> closing: intensity above close_above
    delay_running,  ///< stays closing: dirty or without signal for less than close_delay
    recovered,      ///< closing -> open: intensity not above close_above
    delay_over      ///< closing -> closed: dirty or without signal for close_delay
};

struct Decision {
    WindowState state;
    Reason reason;
    friend bool operator==(Decision const&, Decision const&) = default;
};

/// Advances one site's window by one step.
///
/// `intensity` is the current marginal intensity. An empty optional means no fresh signal, which
/// counts as dirty. Pure: no clock, no I/O. `now` must not decrease from call to call; equal times
/// are allowed. Repeating a step with the same intensity only advances the close delay. Throws
/// std::logic_error on a `closing` state without closing_since.
[[nodiscard]] Decision advance(WindowState const& before, std::optional<GramsPerKwh> intensity,
                               Time now, Thresholds const& rule);

/// Explains the step that led from `before` to `decision`, in one sentence with its numbers: `69
/// g/kWh is below 100: window opens`.
[[nodiscard]] std::string explain(WindowState const& before, Decision const& decision,
                                  std::optional<GramsPerKwh> intensity, Time now,
                                  Thresholds const& rule);

[[nodiscard]] std::string_view to_string(Phase phase);    ///< `closed`, `open`, `closing`
[[nodiscard]] std::string_view to_string(Reason reason);  ///< `turned-dirty`, for stored records

/// `{"phase":"closing","closing_since":"2026-01-11T19:05:00Z"}`; closing_since is null unless
/// closing.
[[nodiscard]] json::Object to_json(WindowState const& state);
/// Reads the output of to_json as a member of a larger object. Errors go to `r`.
[[nodiscard]] WindowState read_window_state(json::ObjectReader& r);

}  // namespace curtail::windows
