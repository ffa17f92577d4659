// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>

#include "bill/account/parts.hpp"

// How energy and carbon follow from the settings that were in force. Helpers for the functions of
// parts.hpp that compute energy and carbon.
namespace curtail::account {

/// A time in which a site's settings and its PUE do not change.
struct SettingsSpan {
    energy::Interval when;  ///< on the signal's clock
    config::Site site;
    std::optional<energy::Power> power;  ///< with the PUE of this time
};
/// Returns the power of a site with `settings`, with its first PUE. If the settings say what the
/// site's meters cover, the power of training is the metered one.
[[nodiscard]] std::optional<energy::Power> power_of(SiteTimeline const& site,
                                                    config::Site const& settings);

/// Returns a site's settings over all time, in order and without gaps.
[[nodiscard]] std::vector<SettingsSpan> settings_spans(SiteTimeline const& site, Axis const& axis);

/// Returns when a site's windows were open, on the signal's clock, in order and without overlap. A
/// window that is still open ends at the run's end.
[[nodiscard]] std::vector<energy::Interval> window_intervals(
    std::vector<WindowAccount> const& windows, std::size_t site, Timeline const& timeline);

/// Returns how site `s` is billed. `trace` has the intensities: RunFiles::trace or
/// RunFiles::averages.
[[nodiscard]] energy::Billings billings_of(Timeline const& timeline, std::size_t s,
                                           std::vector<RegionSeries> const& trace);

/// Returns the states that are billed: those in which the site held devices, and those between its
/// jobs in which its nodes stayed switched on for it.
[[nodiscard]] std::vector<energy::StateInterval> billed_of(SiteTimeline const& site);

/// Returns how site `s` would be billed in the region of `series`, if it had always been there. The
/// value of the nearest sample holds before the first sample and after the last one.
[[nodiscard]] energy::Billings imagined_billings_of(Timeline const& timeline, std::size_t s,
                                                    RegionSeries const& series);

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
