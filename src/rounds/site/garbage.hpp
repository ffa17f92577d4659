// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "rounds/site/machine.hpp"

namespace curtail::rounds::site {

/// Deletes expired payloads. To find them, reads commits backwards, one per step, from the oldest
/// commit whose model is kept.
class Garbage {
  public:
    /// Starts to read backwards, if a model has expired. Each site does so after each merge commit
    /// that it wrote. The first time, it covers 8 rounds instead of 1, because the writers of older
    /// commits may have been killed before they deleted anything.
    void begin(Commit const& tip, RunSpec const& run);
    /// Returns true if there is a further commit to read.
    [[nodiscard]] bool walking() const { return walk_.has_value(); }
    [[nodiscard]] CommitNumber next() const { return walk_->next; }  ///< number of that commit
    /// Takes the bytes of the commit next(), or null if it was not read. Sends the deletions that
    /// it allows. Stops if `bytes` is null or invalid.
    void advance(std::string const* bytes, RunSpec const& run, Machine& machine);

  private:
    /// The state of the backward reading.
    struct Walk {
        CommitNumber next;            ///< number of the next commit to read
        std::optional<Commit> newer;  ///< the commit after it
        int rounds{1};                ///< rounds whose payloads are still to be deleted
        int reads{1};                 ///< commits left to read one by one; one more read then jumps
                                      ///< to the nearest earlier commit with a model
    };
    /// Takes one commit. Returns false if it was the last one to read.
    [[nodiscard]] bool step(Commit commit, RunSpec const& run, Machine& machine);

    std::optional<Walk> walk_;
    bool collected_{};  ///< this process has started to read before
};

}  // namespace curtail::rounds::site
