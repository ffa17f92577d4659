// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "poller/plan/job_limits.hpp"
#include "poller/plan/state.hpp"

namespace curtail::plan {

/// Returns the state to use after the clock was set back. Times of past events that now lie after
/// `now` become `now`. A pause that would last longer than the longest backoff is shortened to it.
/// Without this function, the poller would repeat no stop request and submit no job until the clock
/// reaches its old time again. `now` is real time.
[[nodiscard]] SiteState clamp_times(SiteState state, Time now, JobLimits const& limits);

}  // namespace curtail::plan
