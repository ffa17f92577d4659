// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "account/account.hpp"
#include "reference/history.hpp"

namespace curtail::reference {

/// Computes an account of the experiment in arXiv:2602.22760 from the experiment's logs. The report
/// shows it in the same form as the account of a Curtail run. As in the technical report, energy
/// and carbon are sums over a grid of times (energy/grid.hpp).
[[nodiscard]] account::Account account_of(Logs const& logs, History const& history);

}  // namespace curtail::reference
