// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/plan.hpp"

namespace curtail::plan {

/// The state as it must be read after the clock was set back: no moment that has passed lies ahead
/// of `now`, and no pause is longer than the longest. Otherwise a job would not be asked again to
/// stop, or not be submitted, until the old time is reached.
[[nodiscard]] SiteState set_back(SiteState state, Time now, Rules const& rules);

}  // namespace curtail::plan
