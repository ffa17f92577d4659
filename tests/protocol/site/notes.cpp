// SPDX-License-Identifier: Apache-2.0
// The events of the round protocol in events.jsonl.
#include "protocol/site/notes.hpp"

#include <gtest/gtest.h>

namespace curtail::protocol {
namespace {

MemberId const a{"A.00000011.2"};
MemberId const b{"B.00000022.3"};

std::string text_of(Note const& note) { return note.type + json::to_string(note.details); }

Header header()
{
    Header header;
    header.member = a;
    header.seq = {4};
    header.tokens = {64};
    return header;
}

Commit commit()
{
    Commit commit;
    commit.number = {9};
    commit.round = {5};
    return commit;
}

// Work of `member` that a commit includes.
ContributionDecision included(MemberId const& member)
{
    ContributionDecision decided;
    decided.member = member;
    decided.ranges = {{0, 2}};
    decided.tokens = {16};
    return decided;
}

TEST(Notes, AreMadeAsDocumented)
{
    EXPECT_EQ(text_of(joined_note(a, {2})), R"(joined{"member":"A.00000011.2","commit":2})");
    EXPECT_EQ(text_of(cut_note(header())), R"(cut{"member":"A.00000011.2","seq":4,"tokens":64})");
    EXPECT_EQ(text_of(contributed_note(header())),
              R"(contributed{"member":"A.00000011.2","seq":4,"tokens":64})");
    EXPECT_EQ(text_of(adopted_note(commit())), R"(adopted{"commit":9,"round":5})");
    EXPECT_EQ(text_of(left_note(a, {9})), R"(left{"member":"A.00000011.2","commit":9})");
    EXPECT_EQ(text_of(header_unreadable_note(a, "contrib/x.json", "time-out")),
              R"(header-unreadable{"member":"A.00000011.2","name":"contrib/x.json",)"
              R"("why":"time-out"})");
}

TEST(Notes, LostWorkIsAWarning)
{
    auto decided = included(a);
    decided.seq = {4};
    decided.refused = Refusal::stale;
    EXPECT_EQ(text_of(refused_note(decided, {9})),
              R"(refused{"member":"A.00000011.2","seq":4,"commit":9,"why":"stale","tokens":16})");
    EXPECT_EQ(
        warning_in(refused_note(decided, {9})),
        "commit 9 has refused work of this site (stale): 16 tokens are lost, and their blocks "
        "are trained again");
    EXPECT_EQ(text_of(removed_note(a, {9}, Removal::silent, {48})),
              R"(removed{"member":"A.00000011.2","commit":9,"why":"silent","tokens":48})");
    EXPECT_EQ(text_of(lost_note(a, {48})), R"(lost{"member":"A.00000011.2","tokens":48})");
    EXPECT_EQ(warning_in(lost_note(a, {48})),
              "48 tokens that member A.00000011.2 trained are lost, and their blocks are trained "
              "again");
    for (auto const& note : {refused_note(decided, {9}),
                             removed_note(a, {9}, Removal::silent, {48}), lost_note(a, {48})})
        EXPECT_TRUE(is_loss(note)) << note.type;
    EXPECT_FALSE(is_loss(cut_note(header())));
}

TEST(Notes, WorkWithoutAnAnswerIsAWarningAndNoLoss)
{
    auto const note = unanswered_note(a, "commits/00000009.json", {48});
    EXPECT_EQ(text_of(note),
              R"(unanswered{"member":"A.00000011.2","name":"commits/00000009.json","tokens":48})");
    EXPECT_EQ(warning_in(note),
              "no answer from the store about commits/00000009.json with 48 tokens that member "
              "A.00000011.2 trained; if it has not arrived, their blocks are trained again");
    EXPECT_FALSE(is_loss(note));
}

TEST(Notes, ClippedWorkIsAWarning)
{
    auto const note = clipped_note(included(a), {9}, 0.0251);
    EXPECT_EQ(text_of(note),
              R"(clipped{"member":"A.00000011.2","seq":0,"commit":9,"factor":0.0251,)"
              R"("tokens":16})");
    EXPECT_EQ(warning_in(note),
              "commit 9 has clipped work of this site to 0.025 of its length: it is more than 6 "
              "times as long as usual");
    EXPECT_FALSE(is_loss(note)) << "all its tokens count";
}

TEST(Notes, AWaitForARecordIsAWarning)
{
    EXPECT_EQ(warning_in(record_awaited_note("run.json", "commits/00000001.json exists")),
              "waiting about a minute for run.json: commits/00000001.json exists");
}

TEST(Notes, ARepairIsAWarning)
{
    auto const requested = repair_requested_note("models/2/x/w0.h5", 3);
    EXPECT_EQ(text_of(requested), R"(repair-requested{"name":"models/2/x/w0.h5","k":3})");
    EXPECT_EQ(warning_in(requested),
              "cannot read models/2/x/w0.h5; asked the other sites to store it again");
    auto const repaired = repaired_note({"models/2/x/w0.h5"});
    EXPECT_EQ(text_of(repaired), R"(repaired{"names":["models/2/x/w0.h5"]})");
    EXPECT_EQ(warning_in(repaired),
              R"(stored again what was damaged in the store: ["models/2/x/w0.h5"])");
}

TEST(Notes, SilentMembersAreAWarning)
{
    auto const note = members_silent_note({a}, Seconds{210});
    EXPECT_EQ(text_of(note), R"(members-silent{"members":["A.00000011.2"],"wait_ms":210000})");
    EXPECT_EQ(warning_in(note),
              "no member has shown life for long; removing [\"A.00000011.2\"] in 210 s, unless one "
              "of them does");
}

TEST(Notes, AMergeCountsOnlyIncludedWork)
{
    auto merge = commit();
    auto refused = included(b);
    refused.refused = Refusal::nan;
    auto empty = included(b);
    empty.ranges = {};
    merge.decided = {included(a), included(a), refused, empty};
    EXPECT_EQ(text_of(merged_note(merge)), R"(merged{"commit":9,"round":5,"sites":1,"tokens":32})");
}

TEST(Notes, AContributionIsReadBack)
{
    auto const note = contributed_note(header());
    auto const read = contributed_in(note.type, note.details);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->member, a);
    EXPECT_EQ(read->seq, Seq{4});
    EXPECT_FALSE(contributed_in("cut", note.details));
    EXPECT_FALSE(contributed_in(note.type, {{"member", a.value}}));
}

}  // namespace
}  // namespace curtail::protocol
