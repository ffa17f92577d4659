// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/json.hpp"
#include "rounds/verify.hpp"
#include "status/overview.hpp"

/// What curtail-status prints with --json (docs/status.md).
namespace curtail::status {

[[nodiscard]] json::Object overview_json(Overview const& overview);
/// The result of a successful `--verify` of the run in `store`.
[[nodiscard]] json::Object verified_json(rounds::ChainSummary const& summary,
                                         std::string const& store);

}  // namespace curtail::status
