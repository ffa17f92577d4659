// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

#include "protocol/records/reading.hpp"

namespace curtail::protocol::site {

/// Searches the chain for the newest commit (protocol::next_to_read). A process that has not read
/// any commit yet starts with this search.
class Search {
  public:
    /// Returns the number of the commit to read next.
    [[nodiscard]] CommitNumber next() const { return next_to_read(found_, missing_); }
    /// Returns the greatest number whose commit was found so far; 0: none.
    [[nodiscard]] CommitNumber newest() const { return found_; }
    [[nodiscard]] std::string const& bytes() const { return bytes_; }  ///< bytes of commit newest()
    /// Records that the commit `number` exists.
    void exists(CommitNumber number, std::string bytes)
    {
        found_ = number;
        bytes_ = std::move(bytes);
        if (missing_.value != 0 && missing_ <= found_) missing_ = found_.next();
    }
    /// Records that the store did not find the commit `number`.
    void is_missing(CommitNumber number) { missing_ = number; }
    void restart() { found_ = missing_ = {}; }

  private:
    CommitNumber found_;
    CommitNumber missing_;  ///< smallest number above found_ whose commit is thought to be
                            ///< missing; 0: none
    std::string bytes_;
};

/// The members that the tip listed when this process was in the state `fold`. None of them seemed
/// alive (docs/rounds.md). For each member, the class keeps the number of the last contribution
/// known at that time.
class FoldedMembers {
  public:
    void add(MemberId const& member, Seq last_known) { last_known_[member] = last_known; }
    /// Returns true if the member was added and has not contributed since. `last` is the number of
    /// the member's last contribution known now.
    [[nodiscard]] bool contains(MemberId const& member, Seq last) const
    {
        auto const it = last_known_.find(member);
        return it != last_known_.end() && last <= it->second;
    }

  private:
    std::map<MemberId, Seq> last_known_;
};

}  // namespace curtail::protocol::site
