// SPDX-License-Identifier: Apache-2.0
#include "run/energy/state.hpp"

namespace curtail::energy {

char const* name(State state)
{
    switch (state) {
        case State::starting:
            return "starting";
        case State::training:
            return "training";
        case State::exchange:
            return "exchange";
        case State::idle:
            return "idle";
        case State::draining:
            return "draining";
    }
    return "unknown";
}

std::optional<State> state_named(std::string_view text)
{
    for (auto const state : all_states)
        if (text == name(state)) return state;
    return std::nullopt;
}

}  // namespace curtail::energy
