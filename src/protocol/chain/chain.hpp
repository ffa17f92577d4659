// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "protocol/chain/run_objects.hpp"

namespace curtail::chain {

/// Returns the newest commit, or an empty optional if the run has no commit. The commit is decoded
/// but not checked against earlier commits. Reads about 2 log2(n) of n commits; with a cache, n
/// counts from the newest commit in the cache. Fails with `protocol` if one of those commits is
/// damaged.
[[nodiscard]] Result<std::optional<protocol::Commit>> newest_commit(RunObjects const& objects);

/// How thoroughly read_chain() checks each commit.
enum class Check {
    links,  ///< only that the commit names the digest of its parent
    rules   ///< also that the commit follows from its parent and run.json by the protocol's rules
};

/// Returns all commits in order. The vector is empty if the run has no commit.
///
/// Reads the newest commit from the store. Takes each other commit from the cache, if there is one
/// and it has the bytes whose digest the next commit names. So the result is the same with every
/// cache, with one exception: if the store has lost an old commit that the cache still has, the
/// call succeeds.
///
/// Fails with `protocol` if a commit is damaged or fails its check. Fails with `protocol` if a
/// commit is missing before the newest one, or if a listing of the store shows a commit after it.
[[nodiscard]] Result<std::vector<protocol::Commit>> read_chain(RunObjects const& objects,
                                                               Check check);

/// How far verify_run() is, and with what: `done` of `total` things.
using VerifyProgress =
    std::function<void(char const* stage, char const* unit, std::int64_t done, std::int64_t total)>;

/// Verifies the whole run in its store. Reads every object from the store, none from the cache.
/// First checks that the chain has no gap. Then performs all checks of verify_chain()
/// (protocol/chain/verify.hpp). Fails with `protocol` if a check fails; the message names the
/// object and the reason. Compares the chain with the newest commit in the cache: see
/// ChainSummary::warning.
///
/// `elements` returns the number of values of a run's model; empty: unknown. With it, computes the
/// models of merges again (recompute_models() in protocol/chain/recompute.hpp).
[[nodiscard]] Result<ChainSummary> verify_run(
    RunObjects const& objects, VerifyProgress const& progress = {},
    std::function<std::optional<std::int64_t>(protocol::RunSpec const&)> const& elements = {});

}  // namespace curtail::chain
