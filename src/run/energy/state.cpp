// SPDX-License-Identifier: Apache-2.0
#include "run/energy/state.hpp"

#include <array>

namespace curtail::energy {

char const* name(PowerState state)
{
    static constexpr std::array names{"starting", "training",    "exchange", "idle",
                                      "draining", "suspended",   "frozen",   "stalled",
                                      "requeued", "between_jobs"};
    return names.at(static_cast<std::size_t>(state));
}

char const* name(BetweenJobs between_jobs)
{
    static constexpr std::array names{"unknown", "released", "idle"};
    return names.at(static_cast<std::size_t>(between_jobs));
}

std::optional<PowerState> state_named(std::string_view text)
{
    for (auto const state : all_states)
        if (text == name(state)) return state;
    return std::nullopt;
}

}  // namespace curtail::energy
