// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "rounds/next.hpp"

namespace curtail::rounds::site {

/// One contribution.
using Key = std::pair<MemberId, Seq>;

/// The pending contributions found so far.
class Pending {
  public:
    void add(Key const& key, Found found) { found_[key] = std::move(found); }
    [[nodiscard]] bool contains(Key const& key) const { return found_.contains(key); }
    [[nodiscard]] Found const& at(Key const& key) const { return found_.at(key); }
    [[nodiscard]] std::vector<Found> all() const;
    /// The member's next contribution, if found.
    [[nodiscard]] Found const* next_of(Member const& member) const;
    /// The member's last contribution: found, or decided by a commit.
    [[nodiscard]] Seq last_of(Member const& member) const;
    [[nodiscard]] bool leaves(MemberId const& member) const;
    /// True if a contribution of the member is based on `round` or its last one.
    [[nodiscard]] bool contributes(MemberId const& member, Round round) const;

    void refuse(Key const& key, Refusal reason) { found_.at(key).bad = reason; }
    /// Treats the contribution with most ranges, the largest part of a record, as unreadable.
    /// False: no readable contribution is left.
    bool refuse_widest(RunSpec const& run);
    /// Counts answers that the contribution's payload is missing. A refusal is final and such an
    /// answer may be stale, so true: ask again before a refusal.
    bool absent_again(Key const& key);
    void forget_decided(Commit const& tip);

  private:
    std::map<Key, Found> found_;
    std::map<Key, int> absent_;  ///< payloads: number of answers that they are missing
};

/// True if `tip` has decided the contribution or removed its member.
[[nodiscard]] bool is_decided(Commit const& tip, Key const& key);

}  // namespace curtail::rounds::site
