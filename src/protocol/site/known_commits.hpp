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
    /// Takes the greatest number in a list of the store's commits; 0: there are none. A list may
    /// lack the newest commit, and the object need not be a commit of the run, and may be gone
    /// later. So a smaller number than before counts only if the process has waited for more.
    void list(CommitNumber newest, bool waited)
    {
        if (waited || newest > newest_listed_) newest_listed_ = newest;
    }
    /// Returns the greatest number of a commit that is known to exist; 0: none.
    [[nodiscard]] CommitNumber greatest() const { return std::max(greatest_, newest_listed_); }
    [[nodiscard]] std::string who_knows() const
    {
        return newest_listed_ > greatest_ ? "the store has listed" : who_knows_;
    }

    bool listed{};    ///< the process has listed the commits, and none was missing
    bool compared{};  ///< the store has the commit SiteConfig::seen

  private:
    CommitNumber greatest_;
    CommitNumber newest_listed_;
    std::string who_knows_;
};

}  // namespace curtail::protocol::site
