// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "protocol/chain/run_objects.hpp"

// The search for the newest commit.
namespace curtail::chain {

/// A commit as the store has it.
struct StoredCommit {
    protocol::Commit commit;
    std::string bytes;
};

/// Reads commit `number`. Returns an empty optional if it does not exist. Fails with `protocol` if
/// it is damaged, and with `data` if it has another format.
[[nodiscard]] Result<std::optional<StoredCommit>> read_commit(RunObjects const& objects,
                                                              CommitNumber number);

/// Searches for the newest commit. Begins at commit `start`, and reads about 2 log2(n) of the n
/// commits after it. If `start` does not exist, searches from commit 1. Returns an empty optional
/// if the run has no commit. A gap in the chain may mislead the search.
[[nodiscard]] Result<std::optional<StoredCommit>> search_newest(RunObjects const& objects,
                                                                CommitNumber start);

/// Searches for the newest commit in the same way, then looks for commits after it with one listing
/// of the store. Fails with `protocol` if the listing shows that the chain has a gap.
[[nodiscard]] Result<std::optional<StoredCommit>> search_end(RunObjects const& objects,
                                                             CommitNumber start);

/// The greatest number that a commit can have.
inline constexpr CommitNumber greatest_number{99'999'999};

/// Lists the numbers greater than `after` of all commits in the store, as half-open ranges. Takes
/// no notice of other names, such as `commits/123456789.json`.
[[nodiscard]] Result<protocol::Ranges> listed_commits(RunObjects const& objects,
                                                      CommitNumber after);

/// The error of a chain in which the commits `missing` are missing and `beyond` is not.
[[nodiscard]] tl::unexpected<Error> gap_at(protocol::Ranges const& missing, CommitNumber beyond);

/// What to do about a damaged, foreign or lost commit.
inline constexpr char const* repair_remedy =
    "`curtail-store repair` at a site with copies creates lost or damaged commits again, and "
    "removes an object that is no commit of this run; without copies, continue with `curtail-store "
    "fork`";

}  // namespace curtail::chain
