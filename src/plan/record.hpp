// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/action.hpp"
#include "plan/rules.hpp"
#include "plan/update.hpp"

namespace curtail::plan {

/// The state to store before an action is carried out.
[[nodiscard]] SiteState begin(SiteState before, Action const& action, Time now);
/// The state to store after it, given the state that `begin` returned.
[[nodiscard]] Update finish(SiteState before, Action const& action, Outcome const& outcome,
                            Time now, Rules const& rules);

/// The state with which a poller starts: an intent that its predecessor left open is uncertain
/// from now on.
[[nodiscard]] SiteState recover(SiteState before, Time now);

}  // namespace curtail::plan
