// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace curtail::windows {

/// When a site's window opens and closes. Defaults are the reference experiment's.
struct Thresholds {
    GramsPerKwh open_below{100};
    GramsPerKwh close_above{100};  ///< >= open_below; the difference is the hysteresis
    Millis close_delay{600'000};   ///< stays open this long after the signal turned dirty
    friend bool operator==(Thresholds const&, Thresholds const&) = default;
};

enum class Phase {
    closed,
    open,
    closing  ///< dirty since a while shorter than close_delay; jobs still run
};

/// What the last evaluation left behind. Value type: stored as JSON, compared in tests.
struct WindowState {
    Phase phase{Phase::closed};
    std::optional<Time> closing_since;  ///< set exactly while `closing`
    friend bool operator==(WindowState const&, WindowState const&) = default;
};

/// A job may run in `open` and in `closing`.
[[nodiscard]] constexpr bool may_run(Phase phase) { return phase != Phase::closed; }

enum class Reason {
    clean,        ///< closed -> open: intensity below open_below
    still_dirty,  ///< closed stays: intensity not below open_below
    no_signal,  ///< there is no fresh signal, which counts as dirty: closed stays, open -> closing
    still_clean,    ///< open stays: intensity not above close_above
    turned_dirty,   ///< open -> closing: intensity above close_above
    delay_running,  ///< closing stays: dirty or without signal for less than close_delay
    recovered,      ///< closing -> open: intensity not above close_above
    delay_over      ///< closing -> closed: dirty or without signal for close_delay
};

struct Decision {
    WindowState state;
    Reason reason;
    friend bool operator==(Decision const&, Decision const&) = default;
};

/// One step of the window of one site.
///
/// `intensity` is the fresh marginal intensity, or nothing if there is none: that is treated as
/// dirty. Pure: no clock, no I/O. `now` must not run backwards; equal times are allowed. Repeating
/// a step with the same intensity changes nothing but the passing of the delay. Throws
/// std::logic_error on a `closing` state without closing_since.
[[nodiscard]] Decision advance(WindowState const& before, std::optional<GramsPerKwh> intensity,
                               Time now, Thresholds const& rule);

/// The step from `before` that answered `decision`, as one sentence with its numbers: `69 g/kWh is
/// below 100: window opens`.
[[nodiscard]] std::string explain(WindowState const& before, Decision const& decision,
                                  std::optional<GramsPerKwh> intensity, Time now,
                                  Thresholds const& rule);

[[nodiscard]] std::string_view to_string(Phase phase);  ///< `closed`, `open`, `closing`
[[nodiscard]] std::string_view to_string(
    Reason reason);                                   ///< `clean`, `turned-dirty`, ...: for records
[[nodiscard]] std::string_view words(Reason reason);  ///< for people: `the signal turned dirty`

/// `{"phase":"closing","closing_since":"2026-01-11T19:05:00Z"}`; closing_since is null unless
/// closing.
[[nodiscard]] json::Object to_json(WindowState const& state);
/// Reads what to_json wrote, out of a larger object; findings go to `r`.
[[nodiscard]] WindowState read_window_state(json::ObjectReader& r);

}  // namespace curtail::windows
