// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rounds/record.hpp"

namespace curtail::rounds {

/// Checks commit `child` against its parent: chain (I1), ledger and holdings (I2), decisions and
/// member table (I3), grants, scales. Returns nothing if the commit is valid; otherwise the first
/// broken rule with the commit's number, code `protocol`.
[[nodiscard]] std::optional<Error> check(RunSpec const& run, Commit const& parent,
                                         Digest const& parent_sha256, Commit const& child);

/// Checks commit 1, whose parent is run.json. Returns as check() does.
[[nodiscard]] std::optional<Error> check_genesis(RunSpec const& run, Digest const& run_sha256,
                                                 Commit const& first);

}  // namespace curtail::rounds
