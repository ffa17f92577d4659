// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "simulator/store.hpp"

namespace curtail::protocol::simulator {

/// Returns whether the store has all that is needed to make the newest model again. The chain must
/// not be empty.
[[nodiscard]] bool can_recompute(SimStore const& store, Params const& params);

}  // namespace curtail::protocol::simulator
