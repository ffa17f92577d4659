// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bill/account/account.hpp"
#include "bill/account/files.hpp"

namespace curtail::account {

/// Computes the account of a run from its files. Does no I/O.
[[nodiscard]] Account account_of(RunFiles const& files);

}  // namespace curtail::account
