// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "account/account.hpp"
#include "reference/history.hpp"

namespace curtail::reference {

/// Computes the account of the experiment in arXiv:2602.22760 from the experiment's logs. The
/// report shows this account like that of one of Curtail's own runs. Energy and carbon are sums
/// over the same points in time as in the paper (energy/grid.hpp).
[[nodiscard]] account::Account account_of(Logs const& logs, History const& history);

}  // namespace curtail::reference
