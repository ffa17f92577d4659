// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "protocol/chain/newest.hpp"

namespace curtail::chain {

/// Which commits read_commits() may take from the cache.
enum class UseCache {
    yes,  ///< those whose digest a later commit names, beginning with the newest one
    no    ///< none: every commit is read from the store
};

/// Reads commits 1 to `newest`, and adds them to the cache. `newest` is as the store has it.
/// Several threads read and decode. Each commit names the digest of its parent; so with `newest`,
/// every commit before it is known by its digest.
///
/// Fails with `protocol` if a commit is missing, damaged, or does not name the digest of its
/// parent; the message names the first such commit. Returns errors of the store unchanged.
[[nodiscard]] Result<std::vector<LinkedCommit>> read_commits(RunObjects const& objects,
                                                             StoredCommit newest, UseCache use);

}  // namespace curtail::chain
