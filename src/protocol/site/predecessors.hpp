// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>

#include "protocol/records/names.hpp"
#include "protocol/records/record.hpp"

namespace curtail::protocol::site {

/// The members of this site that other processes of the site have made. A process takes the place
/// of those that have ended. The others may be running in another folder or on another machine.
class Predecessors {
  public:
    explicit Predecessors(std::set<std::uint32_t> ended) : ended_(std::move(ended)) {}
    /// Returns true if the member's process has ended, as far as this process can know.
    [[nodiscard]] bool has_ended(MemberId const& id) const
    {
        return silent_.contains(id) || ended_.contains(member_parts(id).process.nonce);
    }
    /// Records that a member has shown no sign of life for so long that its process has ended.
    void is_silent(MemberId const& id) { silent_.insert(id); }
    /// Forgets is_silent(): a later look may see a sign of life.
    void look_again() { silent_.clear(); }
    /// Takes that the newest commit lists the member.
    void see(Member const& member, MonoTime now)
    {
        first_.try_emplace(member.id, Sighting{member.seq, now});
    }
    /// Returns true if commits have decided work of the member since see() was first called for it.
    [[nodiscard]] bool has_proceeded(Member const& member) const
    {
        return member.seq > first_.at(member.id).seq;
    }
    /// Returns when see() was first called for the member.
    [[nodiscard]] MonoTime seen_since(Member const& member) const
    {
        return first_.at(member.id).since;
    }
    /// Returns true once per member: when the wait for it begins.
    [[nodiscard]] bool must_tell(MemberId const& id) { return told_.insert(id).second; }

  private:
    std::set<std::uint32_t> ended_;  ///< SiteConfig::ended
    std::set<MemberId> silent_;
    std::set<MemberId> told_;
    struct Sighting {
        Seq seq;
        MonoTime since;
    };
    std::map<MemberId, Sighting> first_;  ///< when this process first saw the member
};

}  // namespace curtail::protocol::site
