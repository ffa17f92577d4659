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
    /// Takes the numbers in a list of the store's commits. A list may lack the newest commit. An
    /// object need not be a commit of the run, and may be gone later. So what an earlier list had
    /// counts until the process has waited for it.
    void list(Ranges const& numbers, bool waited)
    {
        in_lists_ = waited ? numbers : in_lists_ + numbers;
    }
    /// Takes that the object of this number is no commit of the run.
    void forget(CommitNumber number)
    {
        in_lists_ -= Ranges::between(number.value, number.value + 1);
    }
    /// Returns the greatest number of a commit that is known to exist; 0: none.
    [[nodiscard]] CommitNumber greatest() const { return std::max(greatest_, newest_listed()); }
    [[nodiscard]] std::string who_knows() const
    {
        return newest_listed() > greatest_ ? "the store has listed" : who_knows_;
    }

    bool listed{};    ///< the process has listed the commits, and none was missing
    bool compared{};  ///< the store has the commit SiteConfig::seen

  private:
    [[nodiscard]] CommitNumber newest_listed() const
    {
        return in_lists_.empty() ? CommitNumber{} : CommitNumber{in_lists_.list().back().end - 1};
    }
    CommitNumber greatest_;
    Ranges in_lists_;
    std::string who_knows_;
};

}  // namespace curtail::protocol::site
