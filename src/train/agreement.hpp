// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm/collectives.hpp"
#include "core/result.hpp"

namespace curtail::train {

/// Whether all ranks succeeded: if one failed, every rank gets the error of the highest rank that
/// did. All ranks call it.
[[nodiscard]] Result<void> agree(comm::Collectives& ranks, Result<void> const& mine);

}  // namespace curtail::train
