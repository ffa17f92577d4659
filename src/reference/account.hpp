// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "account/account.hpp"
#include "reference/history.hpp"

namespace curtail::reference {

/// The account of the reference experiment, for the same page as the runs of Curtail. Energy and
/// carbon are summed on the reference's grid (energy/grid.hpp).
[[nodiscard]] account::Account account_of(Logs const& logs, History const& history);

}  // namespace curtail::reference
