// SPDX-License-Identifier: Apache-2.0
#include "run/energy/state.hpp"

namespace curtail::energy {

char const* name(PowerState state)
{
    switch (state) {
        case PowerState::starting:
            return "starting";
        case PowerState::training:
            return "training";
        case PowerState::exchange:
            return "exchange";
        case PowerState::idle:
            return "idle";
        case PowerState::draining:
            return "draining";
    }
    return "unknown";
}

std::optional<PowerState> state_named(std::string_view text)
{
    for (auto const state : all_states)
        if (text == name(state)) return state;
    return std::nullopt;
}

}  // namespace curtail::energy
