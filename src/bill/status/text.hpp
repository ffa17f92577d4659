// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "bill/status/overview.hpp"
#include "protocol/chain/verify.hpp"
#include "run/journal/verify.hpp"

// The text that curtail-status prints without --json (docs/status.md).
namespace curtail::status {

/// Returns the text about a run's current state.
[[nodiscard]] std::string overview_text(Overview const& overview);
/// Says why a model was or was not recomputed, for people.
[[nodiscard]] char const* to_text(chain::RecomputedModel::Outcome outcome);
/// Returns the text that a successful `--verify` prints. `store` is the store's address.
[[nodiscard]] std::string verified_text(chain::ChainSummary const& summary,
                                        journal::VerifiedJournal const& journal,
                                        std::string const& store);

}  // namespace curtail::status
