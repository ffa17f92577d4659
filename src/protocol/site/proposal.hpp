// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>

#include "protocol/rules/next.hpp"

namespace curtail::protocol::site {

/// The purpose of the next commit. `fold`, `roster` and `merge` are words of docs/glossary.md.
/// `lone` is a checkpoint: a lone member commits its own weights. `amend` is a roster commit by a
/// process that is not a member.
enum class Mode { fold, roster, merge, lone, amend };

/// A commit that is ready to be created in the store.
struct Draft {
    Commit commit;
    EncodedRecord encoded;  ///< the stored form of `commit`
};

/// The commit that this process intends to create next.
class Proposal {
  public:
    [[nodiscard]] Mode mode() const { return mode_; }
    /// Returns true if the commit may include contributions of other members.
    [[nodiscard]] bool includes_others() const
    {
        return mode_ == Mode::merge || mode_ == Mode::fold;
    }
    void set_mode(Mode mode) { mode_ = mode; }

    /// Forgets the admission, the rate and the removals that the functions below have added.
    void clear_intents();
    void admit(Admission admission) { intents_.admit = std::move(admission); }
    void amend(NextAmendment next) { intents_.amend = std::move(next); }
    /// Returns the amendment that the commit takes in, also after the commit has been created.
    [[nodiscard]] std::optional<NextAmendment> const& amendment() const { return intents_.amend; }
    void set_rate(MemberId const& member, Rate rate) { intents_.rate = {member, rate}; }
    /// Adds the removal of a member. `last_decided` is the number of the member's last decided
    /// contribution. The caller must have looked for the header of the member's next contribution.
    void remove(MemberId const& member, Removal reason, Seq last_decided);
    [[nodiscard]] bool removes() const { return !intents_.remove.empty(); }
    /// Returns the Intents (protocol/rules/next.hpp) for the commit that follows `tip`. Leaves out
    /// the removal of a member if, since remove(), a commit has removed the member or decided one
    /// of its contributions.
    [[nodiscard]] Intents intents_at(Commit const& tip) const;

    [[nodiscard]] std::optional<Draft> const& draft() const { return draft_; }
    void set_draft(Draft draft) { draft_ = std::move(draft); }
    void discard_draft() { draft_.reset(); }
    [[nodiscard]] bool builds_on(Digest const& tip) const;  ///< true if `tip` is the draft's parent
    /// Returns true if `record` is the digest of the draft.
    [[nodiscard]] bool is_draft(Digest const& record) const;

    /// Records that the draft commits this member's own weights.
    void mark_lone() { lone_draft_ = draft_->encoded.sha256; }
    /// Returns true if `record` is the digest of the last draft for which mark_lone() was called.
    [[nodiscard]] bool lone_is(Digest const& record) const { return lone_draft_ == record; }
    /// Records that the store is asked to create the draft.
    void note_sent();
    /// Records that the store has certainly not created it.
    void note_not_created() { sent_ = sent_before_; }
    /// The newest lone commits (mark_lone()) that the store may have created.
    struct Sent {
        CommitNumber commit;
        Seq last;  ///< greatest number of this member's contributions in one of them
    };
    [[nodiscard]] std::optional<Sent> const& sent() const { return sent_; }

  private:
    Mode mode_{Mode::roster};
    Intents intents_;
    std::map<MemberId, Seq> scanned_;  ///< as given to remove(): `last_decided` of each member
    std::optional<Draft> draft_;
    std::optional<Digest> lone_draft_;  ///< digest of the last draft marked by mark_lone()
    std::optional<Sent> sent_;
    std::optional<Sent> sent_before_;  ///< sent() before note_sent()
};

}  // namespace curtail::protocol::site
