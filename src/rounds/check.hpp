// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/record.hpp"

namespace curtail::rounds {

/// What a reader can hold against commit `child` knowing its parent: chain (I1), ledger and
/// holdings (I2), decisions and member table (I3), grants, scales. Nothing: it is good. Code
/// `protocol`, naming number and rule.
[[nodiscard]] std::optional<Error> check(RunSpec const& run, Commit const& parent,
                                         Digest const& parent_sha256, Commit const& child);

/// The same for commit 1, whose parent is run.json.
[[nodiscard]] std::optional<Error> check_genesis(RunSpec const& run, Digest const& run_sha256,
                                                 Commit const& first);

}  // namespace curtail::rounds
