// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/core/json.hpp"
#include "base/core/time.hpp"
#include "base/core/units.hpp"

// The rules by which a site's window opens and closes. A signal is dirty if its intensity is
// unknown or too high, and otherwise clean. For a closed window, too high means open_below or more.
// For an open or closing window, too high means more than close_above. All times are on the
// signal's clock.
namespace curtail::windows {

/// The intensities and the delay that decide when a site's window opens and closes. The defaults
/// are those of the experiment in arXiv:2602.22760.
struct Thresholds {
    GramsPerKwh open_below{100};   ///< a closed window opens at an intensity below this
    GramsPerKwh close_above{100};  ///< an open window turns `closing` at an intensity above this;
                                   ///< must be >= open_below
    Millis close_delay{600'000};   ///< how long the signal must stay dirty before the window closes
    friend bool operator==(Thresholds const&, Thresholds const&) = default;
};

/// The phase of a window.
enum class Phase {
    closed,
    open,
    closing  ///< the signal has been dirty for less than close_delay; jobs still run
};

/// The state of one site's window after its last evaluation. It is stored as JSON.
struct WindowState {
    Phase phase{Phase::closed};
    std::optional<Time> closing_since;  ///< when the signal turned dirty; set if and only if the
                                        ///< phase is `closing`
    friend bool operator==(WindowState const&, WindowState const&) = default;
};

/// Returns whether a job may run in this phase: true for `open` and for `closing`.
[[nodiscard]] constexpr bool may_run(Phase phase) { return phase != Phase::closed; }

/// The reason for which an evaluation changed the phase or kept it.
enum class Reason {
    clean,          ///< closed -> open: the intensity is below open_below
    still_dirty,    ///< stays closed: the intensity is at least open_below
    no_signal,      ///< the intensity is unknown: a closed window stays closed, an open window
                    ///< turns `closing`
    still_clean,    ///< stays open: the intensity is at most close_above
    turned_dirty,   ///< open -> closing: the intensity is above close_above
    delay_running,  ///< stays closing: the signal has been dirty for less than close_delay
    recovered,      ///< closing -> open: the intensity is at most close_above
    delay_over      ///< closing -> closed: the signal has been dirty for close_delay or longer
};

/// The result of evaluating a window once.
struct Decision {
    WindowState state;  ///< the state after the evaluation
    Reason reason;
    friend bool operator==(Decision const&, Decision const&) = default;
};

/// Evaluates one site's window once, at the time `now`.
///
/// `intensity` is the marginal intensity at `now`, or empty if it is unknown. `now` must not
/// decrease from call to call; equal times are allowed. While the intensity stays the same, further
/// calls change the state only at the end of the close delay. Throws std::logic_error if `before`
/// is `closing` without closing_since.
[[nodiscard]] Decision advance(WindowState const& before, std::optional<GramsPerKwh> intensity,
                               Time now, Thresholds const& thresholds);

/// Explains `decision` in one sentence that contains the numbers behind the decision. Example:
/// `69 g/kWh is below 100: window opens`. `decision` must be what advance() returned. The other
/// arguments must be those that advance() received.
[[nodiscard]] std::string explain(WindowState const& before, Decision const& decision,
                                  std::optional<GramsPerKwh> intensity, Time now,
                                  Thresholds const& thresholds);

/// Returns `closed`, `open` or `closing`.
[[nodiscard]] std::string_view to_string(Phase phase);
/// Returns the name that stored records use, such as `turned-dirty`.
[[nodiscard]] std::string_view to_string(Reason reason);
/// Returns the value whose to_string() is `name`, or an empty optional if there is none.
[[nodiscard]] std::optional<Phase> parse_phase(std::string_view name);
[[nodiscard]] std::optional<Reason> parse_reason(std::string_view name);

/// Writes `{"phase":"closing","closing_since":"2026-01-11T19:05:00Z"}`. closing_since is null
/// unless the phase is `closing`.
[[nodiscard]] json::Object to_json(WindowState const& state);
/// Reads the fields that to_json() writes, from the object that `r` reads. Errors are recorded in
/// `r`.
[[nodiscard]] WindowState read_window_state(json::ObjectReader& r);

}  // namespace curtail::windows
