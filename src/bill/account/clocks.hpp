// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bill/account/files.hpp"
#include "bill/account/jobs.hpp"

namespace curtail::account {

/// Corrects the times of a site's records where the clock of its machine was set back while a
/// trainer ran. Each record of a trainer also has the time of the monotonic clock, which nobody
/// sets. The first record of each trainer counts as right. Returns by how much the clock was set
/// back at most, and when the corrected lines were written; nothing if nothing was corrected.
[[nodiscard]] ClockChange correct_times(SiteFiles& site);

/// Returns by how much the times of lines that were written one after the other go back at most.
[[nodiscard]] ClockChange set_back(std::vector<Event> const& lines);
[[nodiscard]] ClockChange set_back(std::vector<StepMetrics> const& lines);

/// Returns by how much the clock of a site's machine was set forward while `jobs` ran, by the
/// monotonic clock. A machine that was suspended looks the same.
[[nodiscard]] ClockChange set_forward(SiteFiles const& site, std::vector<JobTimeline> const& jobs);

/// Two threads may write in another order than they read the clock, and launchers count in whole
/// seconds.
inline constexpr Millis clock_rounding{1'000};

}  // namespace curtail::account
