// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "rounds/site/machine.hpp"

namespace curtail::rounds::site {

/// Deletes the payloads of expired rounds, except the models of milestones. A round has expired if
/// it is older than the newest Params::keep_models rounds. To find the payloads, the class reads
/// commits backwards, starting at the commit that made the oldest unexpired model.
class Garbage {
  public:
    /// Starts a walk, i.e. the backward reading, if a round has expired. A site calls this after
    /// each merge commit that it wrote. The first walk deletes the payloads of up to 8 rounds,
    /// because other writers may have been killed before they deleted anything. Each later walk
    /// deletes the payloads of 1 round.
    void begin(Commit const& tip, RunSpec const& run);
    /// Returns true if there is a further commit to read.
    [[nodiscard]] bool walking() const { return walk_.has_value(); }
    [[nodiscard]] CommitNumber next() const { return walk_->next; }  ///< number of that commit
    /// Takes the bytes of the commit next(), or null if the site could not read it. From this
    /// commit and the one read before it, finds expired payloads and sends a Delete for each. Ends
    /// the walk if `bytes` is null or invalid.
    void advance(std::string const* bytes, RunSpec const& run, Machine& machine);

  private:
    /// The state of the backward reading.
    struct Walk {
        CommitNumber next;            ///< number of the next commit to read
        std::optional<Commit> newer;  ///< the commit read last; empty before the first
        int rounds{1};                ///< rounds whose payloads are still to be deleted
        /// Number of commits that the walk may still read without skipping any. After them, it
        /// reads only the nearest earlier commit that made a model.
        int reads{1};
    };
    /// Takes one commit. Returns false if it was the last one to read.
    [[nodiscard]] bool step(Commit commit, RunSpec const& run, Machine& machine);

    std::optional<Walk> walk_;
    bool walked_before_{};  ///< an earlier begin() started a walk
};

}  // namespace curtail::rounds::site
