// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/chain/verify.hpp"

namespace curtail::protocol::simulator {

/// Reads run.json and all commits up to the first that is missing, then verifies the run
/// (chain::verify_chain). `limits` are those of the run.
[[nodiscard]] Result<chain::ChainSummary> verify_objects(chain::VerifySource const& source,
                                                         RecordLimits const& limits = {});

}  // namespace curtail::protocol::simulator
