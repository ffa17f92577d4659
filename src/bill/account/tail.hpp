// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bill/account/billing.hpp"

namespace curtail::account {

/// Compares the bill with that of `fixed`: the same run with those lines only that the chain of
/// commits fixes. Returns the tail of each site, in order of the sites.
[[nodiscard]] std::vector<Tail> tails_of(RunFiles const& files, Timeline const& timeline,
                                         RunFiles const& fixed);

}  // namespace curtail::account
