// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "rounds/site/machine.hpp"

namespace curtail::rounds::site {

/// The walk down old commits that deletes expired payloads, and those that earlier writers left.
class Garbage {
  public:
    /// Starts a walk after an own merge commit, so that leaving sites do it too. The first walk of
    /// a process also covers older rounds, whose writers may have been killed.
    void begin(Commit const& tip, RunSpec const& run);
    [[nodiscard]] bool walking() const { return walk_.has_value(); }
    [[nodiscard]] CommitNumber next() const { return walk_->next; }  ///< the commit to read
    /// Takes the commit next() and sends the deletions that it allows. Ends the walk without bytes.
    void advance(std::string const* bytes, RunSpec const& run, Machine& machine);

  private:
    struct Walk {
        CommitNumber next;            ///< next commit to read
        std::optional<Commit> newer;  ///< the commit after it
        int rounds{1};                ///< rounds left to collect
        int reads{1};                 ///< single steps left; one last step jumps to the next model
    };
    [[nodiscard]] bool step(Commit commit, RunSpec const& run, Machine& machine);

    std::optional<Walk> walk_;
    bool collected_{};  ///< the first walk of this process has started
};

}  // namespace curtail::rounds::site
