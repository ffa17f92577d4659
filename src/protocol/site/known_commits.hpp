// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "protocol/records/record.hpp"

namespace curtail::protocol::site {

/// What a starting process knows of the chain besides the commits that it reads. A store may have
/// lost commits, or may be an older copy of itself. So the newest commit that the process finds
/// must not be older than any that it knows of.
class KnownCommits {
  public:
    explicit KnownCommits(std::optional<CommitRef> const& seen)
    {
        if (seen) raise(seen->number, "this site has read");
    }
    /// Takes that the commit `number` exists. `who_knows` completes the sentence "... commit N".
    void raise(CommitNumber number, std::string who_knows)
    {
        if (number <= greatest_) return;
        greatest_ = number;
        who_knows_ = std::move(who_knows);
    }
    /// Takes that no commit beyond `newest` is known to exist: what seemed to be one is none.
    void lower(CommitNumber newest) { greatest_ = std::min(greatest_, newest); }
    /// Returns the greatest number of a commit that is known to exist; 0: none.
    [[nodiscard]] CommitNumber greatest() const { return greatest_; }
    [[nodiscard]] std::string const& who_knows() const { return who_knows_; }

    bool listed{};    ///< the process has listed the commits, and none was missing
    bool compared{};  ///< the store has the commit SiteConfig::seen

  private:
    CommitNumber greatest_;
    std::string who_knows_;
};

}  // namespace curtail::protocol::site
