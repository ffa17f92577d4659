// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "protocol/chain/run_objects.hpp"

namespace curtail::operate {

/// What a repair of the chain has found and done.
struct ChainRepair {
    std::vector<CommitNumber> restored;  ///< lost commits that it has created again
    std::vector<CommitNumber> lost;      ///< those that it could not, because a copy is missing
    /// Objects at the end of the chain or beyond it that have the name of a commit and are no
    /// commits of this run.
    std::vector<CommitNumber> foreign;
};

/// Creates lost commits of a run again from the site's copies of commits, the newest first. Creates
/// nothing unless the copies are linked with the commits in the store, so sites may train
/// meanwhile. Fails with `protocol` if the store has another history than the copies. Returns
/// errors of the store unchanged.
[[nodiscard]] Result<ChainRepair> repair_chain(chain::RunObjects const& objects,
                                               chain::RecordCache& copies);

/// Removes an object that repair_chain() has called foreign. Looks at it once more before that:
/// fails with `temporary` if it has changed meanwhile.
[[nodiscard]] Result<void> remove_foreign(chain::RunObjects const& objects, CommitNumber number);

}  // namespace curtail::operate
