// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/json.hpp"
#include "bill/status/overview.hpp"
#include "protocol/chain/verify.hpp"
#include "run/journal/verify.hpp"

// The JSON that curtail-status prints with --json (docs/status.md).
namespace curtail::status {

/// Returns the JSON about a run's current state.
[[nodiscard]] json::Object overview_json(Overview const& overview);
/// Returns the JSON that a successful `--verify` prints. `store` is the store's address.
[[nodiscard]] json::Object verified_json(chain::ChainSummary const& summary,
                                         journal::VerifiedJournal const& journal,
                                         std::string const& store);

}  // namespace curtail::status
