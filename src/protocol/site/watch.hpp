// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>

#include "protocol/records/record.hpp"

namespace curtail::protocol::site {

/// What a question asks of the store. A full store answers reads, and refuses writes.
enum class StoreUse { read, write };

/// For how long each member has shown no progress. Counts only time in which the member could make
/// progress that this process could see: after a suspension of this process, and after an outage of
/// the store, it begins again at zero.
///
/// Three failed questions in a row that extend over more than `skew` are an outage. So are three
/// failed writes without a successful write in between, whatever reads succeed. Each further write
/// that fails begins the count again.
class Watch {
  public:
    /// Takes a commit that this process has just read. A member shows progress if its `seq` or
    /// `seen` differ from those in the commit before. A new member counts from now, and so does one
    /// that had no blocks to work on before this commit.
    void observe(Commit const& tip, MonoTime now);
    /// Takes the time of an input. A gap of more than `skew` since the last input shows that this
    /// process was suspended.
    void input(MonoTime now, Millis skew);
    /// Takes the time of an answer of the store to a question of this kind.
    void answered(StoreUse use, MonoTime now, Millis skew);
    /// Takes the time at which a question of this kind failed.
    void failed(StoreUse use, MonoTime now, Millis skew);
    [[nodiscard]] Millis silent_for(MemberId const& member, MonoTime now) const;

  private:
    struct Sighting {
        Seq seq;
        Time seen;
        bool has_blocks;
        MonoTime since;
    };
    // Failed questions in a row.
    struct Failures {
        int count{0};
        MonoTime first{};  ///< time of the first of them
        void add(MonoTime now);
        [[nodiscard]] bool are_outage(MonoTime now, Millis skew) const;
    };
    void restart(MonoTime now);

    std::map<MemberId, Sighting> members_;
    MonoTime last_input_{};
    Failures questions_;
    Failures writes_;  ///< without a successful write in between
};

}  // namespace curtail::protocol::site
