// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "account/parts.hpp"

/// What both the run's energy and its counterfactual are computed with.
namespace curtail::account {

[[nodiscard]] inline energy::Rules rules_of(RunFiles const& files, config::Site const& site)
{
    std::string const signal = files.trace.empty() ? "no signal" : files.trace_name;
    return {site.power,
            site.window.open_below,
            {energy::Origin::modelled, "two power levels, no meter"},
            {energy::Origin::modelled, "power model x " + signal}};
}

/// A step, in whole minutes, that covers `seconds` with at most `points` points.
[[nodiscard]] inline double chart_step(double seconds, double points)
{
    return 60 * std::max(1.0, std::ceil(seconds / points / 60));
}

[[nodiscard]] inline std::size_t points_for(double seconds, double step)
{
    return static_cast<std::size_t>(std::ceil(std::max(0.0, seconds) / step)) + 1;
}

[[nodiscard]] inline Millis millis(double seconds)
{
    return std::chrono::round<Millis>(FractionalSeconds(seconds));
}

}  // namespace curtail::account
