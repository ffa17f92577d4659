// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "chain/run_objects.hpp"

namespace curtail::chain {

/// The newest commit, decoded but not compared with the chain below it; empty: the run has no
/// commit. Reads about 2 log2(n) of n commits. `protocol` if one that it reads is damaged.
[[nodiscard]] Result<std::optional<rounds::Commit>> newest_commit(RunObjects const& objects);

/// What read_chain compares each commit with.
enum class Check {
    links,  ///< with the digest of its parent
    rules   ///< and with run.json and every rule of the protocol
};

/// All commits in order; empty: the run has no commit.
///
/// `protocol` if a commit is damaged, does not follow from its parent, or is missing while a later
/// one exists. `temporary` if the store hid a commit that it had shown before.
[[nodiscard]] Result<std::vector<rounds::Commit>> read_chain(RunObjects const& objects,
                                                             Check check);

/// Recomputes the whole run from its store: chain::verify, and a search for commits beyond a gap
/// in the chain. `protocol` with the object's name and the reason if anything is wrong.
[[nodiscard]] Result<ChainSummary> verify(RunObjects const& objects);

}  // namespace curtail::chain
