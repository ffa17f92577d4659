// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "chain/verify.hpp"
#include "status/overview.hpp"

/// What curtail-status prints for people (docs/status.md).
namespace curtail::status {

[[nodiscard]] std::string overview_text(Overview const& overview);
/// The result of a successful `--verify` of the run in `store`.
[[nodiscard]] std::string verified_text(chain::ChainSummary const& summary,
                                        std::string const& store);

}  // namespace curtail::status
