// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "programs/poll/options.hpp"
#include "run/config/run.hpp"

namespace curtail::programs {

/// Stores the decision of a person about each of `sites` (run/permission/hold.hpp). A pause also
/// ends the permissions, so that jobs stop even if no poller runs. Prints one line per site.
///
/// Stores the decision at as many sites as possible. Then fails with the first error.
[[nodiscard]] Result<void> store_decision(config::Run const& run,
                                          std::vector<config::Site const*> const& sites,
                                          HoldCommand const& command, Console const& console);

}  // namespace curtail::programs
