// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "account/parts.hpp"

// The settings and helpers that the energy of a run and its counterfactual share.
namespace curtail::account {

/// Returns the settings for the bill of `site`.
[[nodiscard]] inline energy::Rules rules_of(RunFiles const& files, config::Site const& site)
{
    std::string const signal = files.trace.empty() ? "no signal" : files.trace_name;
    return {site.power,
            site.window.open_below,
            {energy::Origin::modelled, "two power levels, no meter"},
            {energy::Origin::modelled, "power model x " + signal}};
}

/// Returns the shortest step in seconds, a whole number of minutes, that covers `seconds` with at
/// most `points` steps.
[[nodiscard]] inline double chart_step(double seconds, double points)
{
    return 60 * std::max(1.0, std::ceil(seconds / points / 60));
}

/// Returns how many points, `step` seconds apart, cover `seconds` including both ends.
[[nodiscard]] inline std::size_t points_for(double seconds, double step)
{
    return static_cast<std::size_t>(std::ceil(std::max(0.0, seconds) / step)) + 1;
}

/// Rounds `seconds` to milliseconds.
[[nodiscard]] inline Millis millis(double seconds)
{
    return std::chrono::round<Millis>(FractionalSeconds(seconds));
}

}  // namespace curtail::account
