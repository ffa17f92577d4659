// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "protocol/site/messages.hpp"

// The events of the round protocol in a site's events.jsonl. A function `..._note` makes the event
// that a Site sends. A function `..._in` reads the event from a line of the file.
namespace curtail::protocol {

/// The process has become a member. `commit` is the newest commit that the process has read.
[[nodiscard]] Note joined_note(MemberId const& member, CommitNumber commit);
/// The member has cut the contribution that `header` describes.
[[nodiscard]] Note cut_note(Header const& header);
/// The contribution that `header` describes is in the store.
[[nodiscard]] Note contributed_note(Header const& header);
/// This process has created the merge commit `commit`.
[[nodiscard]] Note merged_note(Commit const& commit);
/// The trainer has adopted the model of `commit`.
[[nodiscard]] Note adopted_note(Commit const& commit);
/// The commit has refused a contribution of this process's member.
[[nodiscard]] Note refused_note(ContributionDecision const& decision, CommitNumber commit);
/// The merge `commit` has multiplied a contribution of this process's member with `factor`, because
/// it is too long (clip_factors()).
[[nodiscard]] Note clipped_note(ContributionDecision const& decision, CommitNumber commit,
                                double factor);
/// The chain up to `commit` has removed this process's member. `tokens`: those of its work that no
/// commit includes any more.
[[nodiscard]] Note removed_note(MemberId const& member, CommitNumber commit, Removal why,
                                Tokens tokens);
/// The process ends with work of its member that nobody else has, or its member was removed during
/// a step.
[[nodiscard]] Note lost_note(MemberId const& member, Tokens tokens);
/// The process ends, and it is not known whether the store has an intact record `name` with these
/// tokens of its member's work.
[[nodiscard]] Note unanswered_note(MemberId const& member, std::string name, Tokens tokens);
/// The member leaves the run. `commit` is the newest commit that the process has read.
[[nodiscard]] Note left_note(MemberId const& member, CommitNumber commit);
/// This process could not read the next header of `member`, but proposes to remove the member.
/// `name` is the header's name, and `why` says why the read failed.
[[nodiscard]] Note header_unreadable_note(MemberId const& member, std::string name,
                                          std::string why);

/// The header `name` of this process's member is damaged in the store. This process stores it
/// again.
[[nodiscard]] Note header_restored_note(MemberId const& member, std::string name);

/// This process cannot read the payload `name`, and has asked the other sites to store it again.
/// `k` is the number of the request within its round.
[[nodiscard]] Note repair_requested_note(std::string name, std::int64_t k);
/// This process has stored these damaged payloads again.
[[nodiscard]] Note repaired_note(std::vector<std::string> const& names);

/// The site's configuration differs from the run's terms. `difference` is one of
/// protocol::differences().
[[nodiscard]] Note terms_differ_note(std::string difference);
/// The amendment with this number is void, because of `why`.
[[nodiscard]] Note amendment_void_note(std::int64_t number, std::string why);
/// The store's clock has jumped by `jump`.
[[nodiscard]] Note clock_jump_note(Millis jump);
/// The process exits because its work came too late, `late` times in a row (site::Pace). `read` and
/// `publish`: how long it took to read its last model and to publish its last contribution.
/// `round`: the time between the last two merges.
[[nodiscard]] Note too_slow_note(int late, Millis read, Millis publish, Millis round);
/// Another process of this site may be training: that of `member`. This process joins when the
/// other one has published its work, or has shown no life for `wait`.
[[nodiscard]] Note waiting_for_twin_note(MemberId const& member, Millis wait);
/// No member seems alive. This process removes these members after `wait`, unless one of them shows
/// life.
[[nodiscard]] Note members_silent_note(std::vector<MemberId> const& members, Millis wait);
/// This process waits for the record `name` before it exits. `why` says why it must exist.
[[nodiscard]] Note record_awaited_note(std::string name, std::string why);
/// The store has lost these commits, and this site has no copies of all of them.
[[nodiscard]] Note commits_lost_note(CommitNumber first, CommitNumber last);
/// An object far beyond the newest commit has the name of a commit, but is none of this run.
[[nodiscard]] Note foreign_commit_note(CommitNumber number);
/// This process has created these lost commits again.
[[nodiscard]] Note commits_restored_note(CommitNumber first, CommitNumber last);
/// Returns true if the note says that work of this process's member is lost: one of refused_note(),
/// removed_note() and lost_note(). Its detail `tokens` says how much.
[[nodiscard]] bool is_loss(Note const& note);
/// Returns the text of a note that people should see at once, for the log. Empty: no such note.
[[nodiscard]] std::optional<std::string> warning_in(Note const& note);

/// What contributed_note() says about a contribution.
struct ContributionNote {
    MemberId member;
    Seq seq;
};
/// Reads what contributed_note() writes, from the type and the details of an event. Returns an
/// empty optional if the event has another type or no `seq`. A missing `member` stays empty.
[[nodiscard]] std::optional<ContributionNote> contributed_in(std::string_view type,
                                                             json::Object const& details);

}  // namespace curtail::protocol
