// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>

#include "rounds/record.hpp"

namespace curtail::rounds::site {

/// For how long each member has shown no progress. Counts only time in which this process could
/// have seen progress: after an outage of the store, or a suspension of this process, it begins
/// again at zero.
class Watch {
  public:
    /// Takes a commit that this process has just read. A member shows progress if its `seq` or
    /// `seen` differ from those in the commit before. A new member counts from now.
    void observe(Commit const& tip, MonoTime now);
    /// Takes the time of an input. A gap of more than `skew` since the last input shows that this
    /// process was suspended.
    void input(MonoTime now, Millis skew);
    /// Takes the time of an answer of the store.
    void answered(MonoTime now, Millis skew);
    /// Takes the time at which a question to the store had no answer. Three of them in a row that
    /// extend over more than `skew` are an outage.
    void unanswered(MonoTime now);
    [[nodiscard]] Millis silent_for(MemberId const& member, MonoTime now) const;

  private:
    struct Seen {
        Seq seq;
        Time seen;
        MonoTime since;
    };
    void restart(MonoTime now);

    std::map<MemberId, Seen> members_;
    MonoTime last_input_{};
    int unanswered_{0};            ///< questions in a row without an answer
    MonoTime first_unanswered_{};  ///< time of the first of them
};

}  // namespace curtail::rounds::site
