// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

#include "core/units.hpp"
#include "energy/interval.hpp"

namespace curtail::energy {

/// What a site does with its devices. Between states it holds none and draws nothing.
enum class State { starting, training, exchange, idle, draining };
inline constexpr State all_states[] = {State::starting, State::training, State::exchange,
                                       State::idle, State::draining};
[[nodiscard]] char const* name(State state);
/// The state of that name; empty if there is none.
[[nodiscard]] std::optional<State> state_named(std::string_view name);

struct StateInterval {
    State state{State::idle};
    Interval when;
    friend bool operator==(StateInterval const&, StateInterval const&) = default;
};

/// What a site draws: a model with two levels, because nothing is metered.
struct Power {
    Watts idle{468};  ///< devices are held for anything but training
    Watts training{2'024};
    [[nodiscard]] Watts of(State state) const { return state == State::training ? training : idle; }
};

}  // namespace curtail::energy
