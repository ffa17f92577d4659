// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>

#include "protocol/records/record.hpp"

namespace curtail::upkeep {

/// The rounds whose payloads a sound run still has. A run deletes by the terms in force at each of
/// its commits, so a later amendment brings nothing back. Add every commit, from the first to the
/// newest.
class KeptRounds {
  public:
    void add(protocol::Commit const& commit);

    /// Returns the oldest round whose payloads no commit has allowed to delete.
    [[nodiscard]] Round oldest() const { return oldest_; }
    [[nodiscard]] bool keeps(Round round) const { return round >= oldest_; }
    /// Returns whether the weights of the round's model must exist, also because the round has
    /// been a milestone ever since keeps() no longer holds.
    [[nodiscard]] bool keeps_weights(Round round) const;

  private:
    Round oldest_{1};
    /// By Params::milestone_every: the rounds before this one have been deleted, except milestones.
    std::map<std::int64_t, Round> deleted_before_;
};

}  // namespace curtail::upkeep
