// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "protocol/records/record.hpp"

// A fork: a run that continues the model of another run's commit (docs/curtail-store.md).
namespace curtail::protocol {

/// Builds commit 1 of a fork. It repeats the model, the momentum, the totals, `done` and `aside` of
/// `origin`, and its round. It has no members, the terms of `run`, and no norms: the deltas of the
/// fork may have another length.
[[nodiscard]] Commit first_of_fork(RunSpec const& run, Digest const& run_sha256,
                                   Commit const& origin, CommitWriter const& by, Time now);

/// Returns the first rule that `first`, commit 1 of a fork, breaks; empty: none. Checks what `run`
/// and the commit themselves show. That the commit repeats its origin, only the origin shows.
[[nodiscard]] std::optional<std::string> broken_fork_rule(RunSpec const& run,
                                                          Digest const& run_sha256,
                                                          Commit const& first);

}  // namespace curtail::protocol
