// SPDX-License-Identifier: Apache-2.0
// Logs that contradict the commits, whose times come from another clock.
#include <gmock/gmock.h>

#include "bill/account/checked_run.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using test::at;
using test::event;

class Commits : public test::CheckedRun {
  protected:
    // Adds a commit of EAST that decides nothing.
    void commit(double hours)
    {
        CommitSummary roster;
        roster.kind = CommitSummary::Kind::roster;
        roster.time = at(hours);
        roster.writer = {"EAST"};
        auto& commits = files.commits;
        auto const place = std::ranges::upper_bound(commits, roster.time, {}, &CommitSummary::time);
        roster.tokens = std::prev(place)->tokens;
        commits.insert(place, roster);
        for (std::size_t i = 0; i < commits.size(); ++i)
            commits[i].number = static_cast<std::int64_t>(i) + 1;
    }
    void add_event(double hours, char const* type, std::int64_t commit)
    {
        auto& own = files.sites[0].events;
        own.insert(std::ranges::upper_bound(own, at(hours), {}, &Event::time),
                   event(hours, type, "EAST", {{"commit", commit}}));
    }
};

TEST_F(Commits, OfJobsRaiseNoDoubt)
{
    for (double hours : {0.1, 1.0, 2.45}) commit(hours);
    add_event(0.1, "joined", 2);
    add_event(1.0005, "merged", 3);
    EXPECT_THAT(titles(), testing::IsEmpty());
    EXPECT_EQ(bound(), Bound::exact);
}

TEST_F(Commits, ThatASiteWroteWithoutAJobMakeItsBillUncertain)
{
    commit(2.6);
    commit(2.75);
    EXPECT_THAT(titles(), testing::ElementsAre("Commits without a job"));
    EXPECT_TRUE(has_note(
        "EAST: no job that events.jsonl shows ran when the site wrote commits, for 2 "
        "of 4 commits from 2026-03-01T02:36:00Z to 2026-03-01T02:45:00Z, by up to 900.0 s"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

// The poller has published later lines than the trainer.
TEST_F(Commits, OfAJobThatIsNotPublishedYetRaiseNoDoubt)
{
    commit(2.75);
    files.sites[0].publication.is_remote = true;
    files.sites[0].publication.until = at(3);
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Commits without a job")));
}

TEST_F(Commits, ThatALogNamesTooEarlyMakeTheBillUncertain)
{
    commit(1.5);
    add_event(1.25, "adopted", 2);
    EXPECT_THAT(titles(), testing::ElementsAre("Events before their commits"));
    EXPECT_TRUE(
        has_note("for 1 of 3 commits from 2026-03-01T01:30:00Z to 2026-03-01T01:30:00Z, by up "
                 "to 900.0 s"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Commits, ThatTheStoreLacksHaveANote)
{
    add_event(1.25, "adopted", 7);
    add_event(1.5, "adopted", 8);
    EXPECT_THAT(titles(), testing::ElementsAre("Commits are missing"));
    EXPECT_TRUE(
        has_note("EAST: 2 events in events.jsonl, from 2026-03-01T01:15:00Z to "
                 "2026-03-01T01:30:00Z, name commits up to 8, and the newest one in the "
                 "store is 2."));
    EXPECT_EQ(bound(), Bound::exact);
    files.commits.clear();
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Commits are missing"))) << "no store";
}

// It may have trained without a commit.
TEST_F(Commits, WhoseTermsHaveASiteOutsideTheRunFileHaveANote)
{
    files.spec.emplace().sites = {{"EAST"}, {"WEST"}};
    EXPECT_THAT(titles(), testing::IsEmpty());
    files.spec->sites.push_back({"NORTH"});
    EXPECT_THAT(titles(), testing::ElementsAre("A site is not in the run file"));
    EXPECT_TRUE(has_note("has NORTH as a site of the run"));
    EXPECT_EQ(bound(), Bound::exact);
    files.commits[1].named_sites = {{"NORTH"}};
    EXPECT_THAT(titles(), testing::ElementsAre("A site is not in the run file"));
    EXPECT_EQ(bound(), Bound::at_least) << "its logs show that it took part";
}

TEST_F(Commits, ThatNameLogsOfASiteOutsideTheRunFileMakeTheBillALowerBound)
{
    files.commits[1].named_sites = {{"EAST"}, {"NORTH"}};
    EXPECT_THAT(titles(), testing::ElementsAre("A site is not in the run file"));
    EXPECT_TRUE(
        has_note("1 commits, from 2026-03-01T03:00:00Z to 2026-03-01T03:00:00Z, name logs "
                 "of NORTH, which the run file does not list"));
    EXPECT_EQ(bound(), Bound::at_least);
}

TEST_F(Commits, OfAForkAreOlderThanItsJobs)
{
    files.spec = protocol::RunSpec{};
    files.spec->fork = protocol::ForkRef{{"parent"}, {12}, {}};
    EXPECT_THAT(titles(), testing::IsEmpty());
    files.commits.front().time = at(0.5);
    EXPECT_THAT(titles(), testing::ElementsAre("Jobs before the fork"));
    EXPECT_TRUE(
        has_note("EAST: 1 jobs in events.jsonl, from 2026-03-01T00:00:00Z to 2026-03-01T02:30:00Z, "
                 "began before the run's first commit, at 2026-03-01T00:30:00Z"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Commits, ThatIncludeStepsBeforeTheyRanMakeTheBillUncertain)
{
    files.commits.back().time = at(2.5);  // WEST's last step ends at hour 3
    EXPECT_THAT(titles(), testing::ElementsAre("Tokens before their steps"));
    EXPECT_TRUE(
        has_note("WEST: the model has tokens of the site before metrics.jsonl has their "
                 "steps"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

// Half of the energy is missing, and each record of the trainer agrees with the others.
TEST_F(Commits, ContradictALogWhoseTimesWereHalved)
{
    files.poller_events.clear();
    for (double hours : {0.1, 1.0, 2.45}) commit(hours);
    auto& east = files.sites[0];
    auto const halve = [](Time& time) { time = at(0) + (time - at(0)) / 2; };
    for (auto& e : east.events) halve(e.time);
    for (auto& s : east.metrics) {
        halve(s.time);
        s.duration /= 2;
    }
    EXPECT_THAT(titles(), testing::Contains("Commits without a job"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

}  // namespace
}  // namespace curtail::account
