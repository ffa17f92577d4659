// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "energy/tally.hpp"

namespace curtail::energy {

/// What a site is doing with its devices. Between intervals it has none and draws nothing.
enum class State { starting, training, exchange, idle, draining };
inline constexpr State all_states[] = {State::starting, State::training, State::exchange,
                                       State::idle, State::draining};
[[nodiscard]] char const* name(State state);
/// The state of that name; nothing if there is none.
[[nodiscard]] std::optional<State> state_named(std::string_view word);

struct StateInterval {
    State state{State::idle};
    Interval when;
    friend bool operator==(StateInterval const&, StateInterval const&) = default;
};

/// A power model of two levels, where nothing is metered.
struct PowerByState {
    Watts idle{468};  ///< provisioned and not training
    Watts training{2'024};
    [[nodiscard]] Watts of(State state) const { return state == State::training ? training : idle; }
};

/// How a figure came to be.
enum class Kind { measured, logged, derived, modelled, estimated };
[[nodiscard]] char const* name(Kind kind);

struct Provenance {
    Kind kind{Kind::modelled};
    std::string source;  ///< a few words: "power model x WattTime marginal signal"
    friend bool operator==(Provenance const&, Provenance const&) = default;
};

/// One site's energy and carbon, and where the figures come from.
struct Ledger {
    std::map<State, Tally> by_state;
    Tally total;
    WattHours inside_windows;  ///< drawn while the site's window was open or closing
    Provenance energy;
    Provenance carbon;
    [[nodiscard]] std::optional<double> inside_share() const;
};

/// What a ledger is kept with.
struct Rules {
    PowerByState power;
    GramsPerKwh threshold{100};
    Provenance energy;
    Provenance carbon;
};

/// Energy and carbon of a site by state. `states` do not overlap; `windows` are in order and do not
/// overlap.
[[nodiscard]] Ledger account(std::span<StateInterval const> states,
                             std::span<Interval const> windows, IntensitySeries const& intensity,
                             Rules const& rules);

/// Running totals at `from`, `from + step`, ... (`count` of them): everything drawn from `from` to
/// that moment.
[[nodiscard]] std::vector<Tally> cumulative(std::span<StateInterval const> states,
                                            IntensitySeries const& intensity, Rules const& rules,
                                            Time from, Millis step, std::size_t count);

/// The part of `states` inside `interval`.
[[nodiscard]] std::vector<StateInterval> clip(std::span<StateInterval const> states,
                                              Interval interval);

/// The counterfactual: one site that never stops.
struct AlwaysOn {
    Interval when;
    Tally tally;
    Interval held;  ///< the part of `when` after the last sample, where `intensity` holds its value
};
/// `tokens` at `tokens_per_second` (seconds of the signal's clock), at training power without a
/// pause, from `start`. `rate` must be positive.
[[nodiscard]] AlwaysOn always_on(Tokens tokens, double tokens_per_second, Time start,
                                 IntensitySeries const& intensity, Rules const& rules);

}  // namespace curtail::energy
