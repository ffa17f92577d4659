// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "chain/verify.hpp"
#include "core/json.hpp"
#include "status/overview.hpp"

/// What curtail-status prints with --json (docs/status.md).
namespace curtail::status {

[[nodiscard]] json::Object overview_json(Overview const& overview);
/// The result of a successful `--verify` of the run in `store`.
[[nodiscard]] json::Object verified_json(chain::ChainSummary const& summary,
                                         std::string const& store);

}  // namespace curtail::status
