// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "account/account.hpp"
#include "account/files.hpp"

namespace curtail::account {

/// The account of a run from its files. Pure.
[[nodiscard]] Account account_of(RunFiles const& files);

}  // namespace curtail::account
