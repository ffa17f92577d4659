// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "operate/chain_plan.hpp"

namespace curtail::operate {

/// Carries out a plan without refusal: creates lost and damaged commits again, the newest first,
/// and then removes foreign objects. Fails with `temporary` if an object has changed since the
/// plan, and with `protocol` if another commit has taken the number of a lost one.
[[nodiscard]] Result<void> repair_chain(chain::RunObjects const& objects, ChainPlan const& plan);

}  // namespace curtail::operate
