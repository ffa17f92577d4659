// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "rounds/site/machine.hpp"

namespace curtail::rounds::site {

/// Deletes expired payloads: those of rounds before the Params::keep_models newest. To find them,
/// reads commits backwards, one per step, from the oldest commit whose model is kept.
class Garbage {
  public:
    /// Starts to read backwards if a model has expired. A site calls this after each merge commit
    /// that it wrote. The first walk deletes the payloads of 8 rounds, each later walk those of 1.
    /// The reason: the writers of older commits may have been killed before they deleted anything.
    void begin(Commit const& tip, RunSpec const& run);
    /// Returns true if there is a further commit to read.
    [[nodiscard]] bool walking() const { return walk_.has_value(); }
    [[nodiscard]] CommitNumber next() const { return walk_->next; }  ///< number of that commit
    /// Takes the bytes of the commit next(), or null if the site could not read it. Sends a Delete
    /// for each expired payload that this commit leads to. Stops if `bytes` is null or invalid.
    void advance(std::string const* bytes, RunSpec const& run, Machine& machine);

  private:
    /// The state of the backward reading.
    struct Walk {
        CommitNumber next;            ///< number of the next commit to read
        std::optional<Commit> newer;  ///< the commit after it
        int rounds{1};                ///< rounds whose payloads are still to be deleted
        /// Commits left to read in sequence. The last read after them jumps to the nearest earlier
        /// commit that made a model.
        int reads{1};
    };
    /// Takes one commit. Returns false if it was the last one to read.
    [[nodiscard]] bool step(Commit commit, RunSpec const& run, Machine& machine);

    std::optional<Walk> walk_;
    bool walked_before_{};  ///< an earlier begin() found an expired model
};

}  // namespace curtail::rounds::site
