// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/chain/verify.hpp"

namespace curtail::protocol::simulator {

/// Reads run.json and all commits up to the first that is missing, then verifies the run
/// (chain::verify_chain).
[[nodiscard]] Result<chain::ChainSummary> verify_objects(chain::VerifySource const& source);

}  // namespace curtail::protocol::simulator
