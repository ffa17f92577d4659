// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "report/account.hpp"
#include "report/reference_figures.hpp"

namespace curtail::report {

/// The reference experiment as an account, for the same page as our own runs. Energy and carbon by
/// the reference's grid (energy/grid.hpp).
[[nodiscard]] Account reference_account(ReferenceLogs const& logs, ReferenceHistory const& history);

/// Its parts; each fills its own fields.
void fill_reference_energy(ReferenceLogs const& logs, ReferenceHistory const& history,
                           Account& account);
void fill_reference_loss(ReferenceLogs const& logs, Account& account);
void fill_reference_words(ReferenceLogs const& logs, Account& account);

inline constexpr std::int64_t reference_step_tokens = 524'288;  ///< per site and optimizer step

}  // namespace curtail::report
