// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "account/account.hpp"
#include "reference/figures.hpp"

namespace curtail::reference {

/// The reference experiment as an account, for the same page as our own runs. Energy and carbon by
/// the reference's grid (energy/grid.hpp).
[[nodiscard]] account::Account account_of(Logs const& logs, History const& history);

/// Its parts; each fills its own fields.
void fill_energy(Logs const& logs, History const& history, account::Account& account);
void fill_loss(Logs const& logs, account::Account& account);
void fill_words(Logs const& logs, account::Account& account);

inline constexpr std::int64_t step_tokens = 524'288;  ///< per site and optimizer step

}  // namespace curtail::reference
