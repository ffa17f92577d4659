// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "protocol/rules/next.hpp"

namespace curtail::protocol::site {

/// The key of one contribution: its member and its number.
using Key = std::pair<MemberId, Seq>;

/// The pending contributions that this process has found. They may be contributions of any
/// member, this process included.
class PendingContributions {
  public:
    void add(Key const& key, KnownContribution known) { known_[key] = std::move(known); }
    [[nodiscard]] bool contains(Key const& key) const { return known_.contains(key); }
    [[nodiscard]] KnownContribution const& at(Key const& key) const { return known_.at(key); }
    [[nodiscard]] std::vector<KnownContribution> all() const;
    /// Returns the member's first contribution that no commit has decided. Returns null if this
    /// process has not found this contribution.
    [[nodiscard]] KnownContribution const* next_of(Member const& member) const;
    /// Returns the number of the member's last known contribution, pending or decided.
    [[nodiscard]] Seq last_of(Member const& member) const;
    /// Returns true if a pending contribution of the member is marked `leaving`.
    [[nodiscard]] bool leaves(MemberId const& member) const;
    /// Returns true if a pending contribution of the member started from the model of `round` or is
    /// marked `leaving`.
    [[nodiscard]] bool contributes(MemberId const& member, Round round) const;

    /// Marks the contribution as bad, so that the next commit refuses it.
    void refuse(Key const& key, Refusal reason) { known_.at(key).bad = reason; }
    /// Leaves the contribution out of all() and next_of() until the next resume_all().
    void postpone(Key const& key) { postponed_.insert(key); }
    /// Postpones one of the contributions that began last: that with the most ranges. So no
    /// contribution is left out for ever. The caller calls this if the next commit would be
    /// invalid, e.g. too long. Returns false if all are left out.
    bool postpone_latest();
    void resume_all() { postponed_.clear(); }
    /// Counts an answer that the contribution's payload is missing. Returns true for the first four
    /// such answers: they may be out of date, so the caller must ask again. From the fifth on,
    /// returns false: the caller must refuse the contribution.
    bool count_absent(Key const& key);
    /// Forgets the contributions for which is_decided() returns true.
    void forget_decided(Commit const& tip);

  private:
    std::map<Key, KnownContribution> known_;
    std::set<Key> postponed_;
    std::map<Key, int> absent_;  ///< number of answers that the contribution's payload is missing
};

/// Returns true if the chain up to `tip` has decided the contribution or removed its member.
[[nodiscard]] bool is_decided(Commit const& tip, Key const& key);

}  // namespace curtail::protocol::site
