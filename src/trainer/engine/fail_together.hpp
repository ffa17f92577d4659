// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/result.hpp"
#include "trainer/comm/collectives.hpp"

namespace curtail::trainer {

/// Succeeds on every rank if `mine` is a success on all ranks. Otherwise fails on every rank with
/// the error of one failed rank, namely that with the highest number. Every rank must call this
/// function.
[[nodiscard]] Result<void> fail_together(comm::Collectives& ranks, Result<void> const& mine);

}  // namespace curtail::trainer
