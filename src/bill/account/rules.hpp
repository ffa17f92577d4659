// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>

#include "bill/account/parts.hpp"

// Helpers for the functions of parts.hpp that compute energy and carbon.
namespace curtail::account {

/// Returns the settings for the bill of `site`.
[[nodiscard]] inline energy::BillSettings settings_of(RunFiles const& files,
                                                      config::Site const& site)
{
    std::string const signal = files.trace.empty() ? "no signal" : files.trace_name;
    return {site.power,
            site.window.open_below,
            {energy::Origin::modelled, "two power levels, no meter"},
            {energy::Origin::modelled, "power model x " + signal}};
}

/// Returns the accounting rule of the intensity of `region`. The least hold is the longest
/// `signal_max_age` of the sites in the region. If no site is in the region, it is that of the site
/// `other`.
[[nodiscard]] inline energy::IntensityRule rule_of(config::Run const& run, RegionId const& region,
                                                   config::Site const& other)
{
    energy::IntensityRule rule;
    for (auto const& site : run.sites)
        if (site.region == region) rule.least_hold = std::max(rule.least_hold, site.signal_max_age);
    if (rule.least_hold == Millis{0}) rule.least_hold = other.signal_max_age;
    return rule;
}

/// Returns the step between the points of a chart, in seconds. The step is the smallest positive
/// number of whole minutes such that `points` x step >= `seconds`.
[[nodiscard]] inline double chart_step(double seconds, double points)
{
    return 60 * std::max(1.0, std::ceil(seconds / points / 60));
}

/// Returns the number of points at 0, `step`, 2 x `step`, and so on, up to the first point at or
/// after `seconds`.
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
