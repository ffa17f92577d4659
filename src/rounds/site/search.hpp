// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

#include "rounds/reading.hpp"

namespace curtail::rounds::site {

/// The search for the newest commit, before this process has a tip.
class Search {
  public:
    [[nodiscard]] CommitNumber next() const { return next_to_read(found_, missing_); }
    /// Greatest number seen; 0: none.
    [[nodiscard]] CommitNumber newest() const { return found_; }
    [[nodiscard]] std::string const& bytes() const { return bytes_; }  ///< of newest()
    void exists(CommitNumber number, std::string bytes)
    {
        found_ = number;
        bytes_ = std::move(bytes);
        if (missing_.value != 0 && missing_ <= found_) missing_ = found_.next();
    }
    void is_missing(CommitNumber number) { missing_ = number; }
    void restart() { found_ = missing_ = {}; }

  private:
    CommitNumber found_;
    CommitNumber missing_;  ///< smallest missing number above found_; 0: none
    std::string bytes_;
};

/// Members that this process has presumed dead in a fold.
class Folded {
  public:
    void add(MemberId const& member, Seq last_known) { last_known_[member] = last_known; }
    /// True unless the member has contributed since.
    [[nodiscard]] bool contains(MemberId const& member, Seq last) const
    {
        auto const it = last_known_.find(member);
        return it != last_known_.end() && last <= it->second;
    }

  private:
    std::map<MemberId, Seq> last_known_;
};

}  // namespace curtail::rounds::site
