// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm/collectives.hpp"
#include "core/result.hpp"

namespace curtail::train {

/// Succeeds if all ranks did. Otherwise every rank gets the error of the highest rank that failed.
/// All ranks must call it.
[[nodiscard]] Result<void> agree(comm::Collectives& ranks, Result<void> const& mine);

}  // namespace curtail::train
