// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "poller/plan/action.hpp"
#include "poller/plan/job_limits.hpp"
#include "poller/plan/update.hpp"

namespace curtail::plan {

/// Returns the state to store before `action` is carried out. `now` is real time, here and below.
[[nodiscard]] SiteState begin(SiteState before, Action const& action, Time now);
/// Returns the state to store after `action` was carried out, and the events to log. `before` is
/// the state that `begin` returned.
[[nodiscard]] Update finish(SiteState before, Action const& action, Outcome const& outcome,
                            Time now, JobLimits const& limits);

/// Returns the state with which a poller starts, from the stored state `before`. If the previous
/// poller ended between `begin` and `finish` of a submission, Intent::uncertain becomes true and
/// Intent::since becomes `now`.
[[nodiscard]] SiteState recover(SiteState before, Time now);

}  // namespace curtail::plan
