// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "plan/rules.hpp"
#include "plan/update.hpp"

namespace curtail::plan {

/// Updates the state from the launcher's list: matches the open intent, notices new and vanished
/// jobs, counts failures. `jobs` are all jobs of this run and site that the launcher still knows,
/// requested at `now` or later.
[[nodiscard]] Update observe(SiteState before, std::vector<Job> const& jobs, Time now,
                             Rules const& rules);

}  // namespace curtail::plan
