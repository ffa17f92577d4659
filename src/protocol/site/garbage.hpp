// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "protocol/site/machine.hpp"

namespace curtail::protocol::site {

/// Deletes the payloads of expired rounds, except the models of milestones. A round has expired if
/// it is older than the newest Params::keep_models rounds. To find the payloads, the class walks
/// backwards through the commits. The walk starts at the merge commit with which the oldest
/// unexpired round began.
class Garbage {
  public:
    /// Starts a walk if a round has expired. `tip` is the newest commit. A site calls this after
    /// each merge commit that it wrote. The first walk deletes the payloads of up to 8 rounds,
    /// because other writers may have been killed before they deleted anything. Each later walk
    /// deletes the payloads of 1 round.
    void begin(Commit const& tip, RunSpec const& run);
    /// Returns true if there is a further commit to read.
    [[nodiscard]] bool walking() const { return walk_.has_value(); }
    /// Returns the number of the commit to read next.
    [[nodiscard]] CommitNumber next() const { return walk_->next; }
    /// Takes the commit next(), or nothing if the site could not read that commit. Compares this
    /// commit with the commit read before. Sends a Delete for each payload that this comparison
    /// shows to be expired. Without a commit, ends the walk instead.
    void advance(std::optional<Commit> commit, RunSpec const& run, Machine& machine);

  private:
    /// The state of a walk.
    struct Walk {
        CommitNumber next;            ///< number of the next commit to read
        std::optional<Commit> newer;  ///< the commit read last; empty before the first read
        int rounds{1};                ///< number of rounds whose payloads are still to be deleted
        /// The walk may still read this many commits in the order of their numbers. If many roster
        /// commits use up this limit, the walk skips the rest of them: it reads the nearest earlier
        /// commit that made a model, and ends.
        int reads{1};
    };
    std::optional<Walk> walk_;
    bool walked_before_{};  ///< an earlier begin() started a walk
};

}  // namespace curtail::protocol::site
