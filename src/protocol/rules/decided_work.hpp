// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "protocol/records/record.hpp"

namespace curtail::protocol {

/// Compares the decision `d` of `commit`, which includes a contribution, with the contribution's
/// header. Returns what differs, as a noun phrase; an empty text if nothing does.
[[nodiscard]] std::string differing_work(Commit const& commit, ContributionDecision const& d,
                                         Header const& header);

}  // namespace curtail::protocol
