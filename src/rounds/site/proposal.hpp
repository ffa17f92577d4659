// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>

#include "rounds/next.hpp"

namespace curtail::rounds::site {

/// Purpose of the next commit.
enum class Mode { fold, roster, merge, lone };

struct Draft {
    Commit commit;
    Encoded encoded;
};

/// The next commit of this process, from its intents to the bytes sent.
class Proposal {
  public:
    [[nodiscard]] Mode mode() const { return mode_; }
    [[nodiscard]] bool includes_others() const
    {
        return mode_ == Mode::merge || mode_ == Mode::fold;
    }
    void set_mode(Mode mode) { mode_ = mode; }

    void clear_intents();
    void admit(Admission admission) { intents_.admit = std::move(admission); }
    void set_rate(MemberId const& member, Rate rate) { intents_.rate = {member, rate}; }
    /// `last_decided` is the member's last decided contribution at the scan for its next header.
    void remove(MemberId const& member, Removal reason, Seq last_decided);
    [[nodiscard]] bool removes() const { return !intents_.remove.empty(); }
    /// The intents without removals of members that `tip` has removed or decided since the scan.
    [[nodiscard]] Intents intents_at(Commit const& tip) const;

    [[nodiscard]] std::optional<Draft> const& draft() const { return draft_; }
    void set_draft(Draft draft) { draft_ = std::move(draft); }
    void discard_draft() { draft_.reset(); }
    [[nodiscard]] bool builds_on(Digest const& tip) const;  ///< there is a draft with that parent
    [[nodiscard]] bool is_draft(Digest const& record) const;

    /// The draft commits this member's own weights.
    void send_lone() { lone_sent_ = draft_->encoded.sha256; }
    [[nodiscard]] bool lone_is(Digest const& record) const { return lone_sent_ == record; }
    [[nodiscard]] bool draft_is_lone() const { return lone_sent_ && is_draft(*lone_sent_); }

  private:
    Mode mode_{Mode::roster};
    Intents intents_;
    std::map<MemberId, Seq> scanned_;  ///< last decided seq of each member to be removed
    std::optional<Draft> draft_;
    std::optional<Digest> lone_sent_;  ///< digest of the last lone commit sent
};

}  // namespace curtail::rounds::site
