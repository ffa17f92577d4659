// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "bill/account/parts.hpp"

namespace curtail::account {

/// Finds the sites whose work is in the committed model and whose logs do not cover it: sites that
/// the run file lacks, and sites that logged too few steps and too little training time. The energy
/// of such work is not recorded. A site that logged training but no step counts as covered. Of a
/// site's work, up to energy::Tally::most_unknown may be
/// missing. `rates` are those of rates_of().
[[nodiscard]] std::vector<UnloggedWork> unlogged_work(
    RunFiles const& files, Timeline const& timeline, Work const& work,
    std::vector<std::optional<SiteRate>> const& rates);

}  // namespace curtail::account
