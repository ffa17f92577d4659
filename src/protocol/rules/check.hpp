// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/records/record.hpp"

namespace curtail::protocol {

/// Checks that the commit `child` follows from its parent by the rules of the protocol.
/// `parent_sha256` is the digest of the parent's bytes. Returns an error with the code `protocol`
/// if the commit is invalid. The error's message names the commit and the first broken rule.
/// Returns an empty optional if the commit is valid.
[[nodiscard]] std::optional<Error> check(RunSpec const& run, Commit const& parent,
                                         Digest const& parent_sha256, Commit const& child);

/// Checks commit 1, whose parent is run.json. In a fork, it has the form of first_of_fork()
/// (protocol/rules/fork.hpp). `run_sha256` is the digest of run.json's bytes.
/// Returns an error or an empty optional, like check().
[[nodiscard]] std::optional<Error> check_genesis(RunSpec const& run, Digest const& run_sha256,
                                                 Commit const& first);

}  // namespace curtail::protocol
