// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "chain/run_objects.hpp"

namespace curtail::chain {

/// Returns the newest commit, or an empty optional if the run has no commit. The commit is decoded
/// but not checked against earlier commits. Reads about 2 log2(n) of n commits.
/// Fails with `protocol` if one of those commits is damaged.
[[nodiscard]] Result<std::optional<rounds::Commit>> newest_commit(RunObjects const& objects);

/// How thoroughly read_chain() checks each commit.
enum class Check {
    links,  ///< only that the commit names the digest of its parent
    rules   ///< also that the commit follows from its parent and run.json by the protocol's rules
};

/// Returns all commits in order. The vector is empty if the run has no commit.
///
/// Fails with `protocol` if a commit is damaged or fails its check. Fails with `protocol` if a
/// commit is missing and one of the next 1000 exists. Fails with `temporary` if the store finds
/// a commit and later in the same call does not find it, as can happen on NFS.
[[nodiscard]] Result<std::vector<rounds::Commit>> read_chain(RunObjects const& objects,
                                                             Check check);

/// Verifies the whole run in its store. First checks that the chain has no gap. A missing commit
/// is a gap if one of the 1000 commits after it exists. Then performs all checks of
/// verify_objects(VerifySource const&) (chain/verify.hpp). Fails with `protocol` if a check fails;
/// the message names the object and the reason.
[[nodiscard]] Result<ChainSummary> verify_run(RunObjects const& objects);

}  // namespace curtail::chain
