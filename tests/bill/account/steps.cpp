// SPDX-License-Identifier: Apache-2.0
// Steps that contradict the settings, each other, or what the poller says about the jobs.
#include <gmock/gmock.h>

#include "bill/account/checked_run.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using energy::PowerState;
using test::at;
using test::event;
using test::step;

using Steps = test::CheckedRun;

TEST_F(Steps, ThatHaveMoreTokensThanABatchAreADoubt)
{
    for (auto& s : files.sites[0].metrics) s.tokens = {9000};
    EXPECT_THAT(titles(), testing::ElementsAre("Steps are too large"));
    EXPECT_TRUE(
        has_note("EAST: 4 of 4 steps in metrics.jsonl have more tokens than "
                 "training.batch_tokens in force, from 2026-03-01T00:30:00Z to "
                 "2026-03-01T02:00:00Z"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Steps, OfTheEndOfTheStreamMayBeSmaller)
{
    files.sites[0].metrics.back().tokens = {300};
    EXPECT_THAT(titles(), testing::IsEmpty());
}

TEST_F(Steps, ThatDoNotFollowEachOtherAreADoubt)
{
    using Change = void (*)(std::vector<StepMetrics>&);
    Change const changes[] = {[](auto& steps) { steps[2].step = 2; },  // repeated
                              [](auto& steps) { steps[3].step = 5; },  // one is missing
                              [](auto& steps) { std::swap(steps[1].step, steps[2].step); },
                              [](auto& steps) { steps[0].step = -7; }};
    auto const clean = files;
    for (auto const& change : changes) {
        files = clean;
        change(files.sites[0].metrics);
        EXPECT_THAT(titles(), testing::ElementsAre("Steps are misnumbered"));
        EXPECT_EQ(bound(), Bound::uncertain);
    }
}

TEST_F(Steps, ThatEndAfterTheStateAreADoubt)
{
    for (auto& e : files.sites[0].events)
        if (e.type == "stop-requested") e.time = at(1.9);
    files.sites[0].events.insert(
        std::ranges::upper_bound(files.sites[0].events, at(1.9), {}, &Event::time),
        event(1.9, "state", "EAST", {{"state", "draining"}, {"job", "1"}}));
    EXPECT_THAT(titles(), testing::ElementsAre("States and steps differ"));
    EXPECT_TRUE(has_note("job 1 trained for 5040.0 s, and by metrics.jsonl for 5400.0 s"));
    EXPECT_EQ(bound(), Bound::at_least);
}

TEST_F(Steps, ThatNeverEndedAreNoDoubtIfTheTrainerFailed)
{
    auto& own = files.sites[1].events;
    own.back().time = at(3.25);
    forget_ends("WEST");
    EXPECT_THAT(titles(), testing::ElementsAre("States and steps differ")) << "it exited with 0";
    own.back().details.set("code", 75);
    EXPECT_THAT(titles(), testing::IsEmpty()) << "it waited 900 s for another rank";
    for (auto& e : own)
        if (e.text("state") == "training") e.details.set("state", "idle");
    EXPECT_THAT(titles(), testing::Contains("States and steps differ")) << "the states are missing";
}

TEST_F(Steps, MayFollowEachOtherWithinAMillisecond)
{
    auto& steps = files.sites[0].metrics;
    steps.clear();
    // Pauses of 0.6 % in the 5400 s in which it trains.
    for (int i = 0; i < 27'000; ++i)
        steps.push_back(step(0.5 + (i + 1) / 18'000.0, {900}, 0.1988, i + 1));
    EXPECT_THAT(titles(), testing::Not(testing::Contains("States and steps differ")));
}

TEST_F(Steps, MayHavePartsOfABatchOrNoTokensAtAll)
{
    files.sites[0].metrics[1].tokens = {600};
    files.sites[0].metrics[2].tokens = {0};  // skipped
    files.commits.back().contributions[0].tokens = {2400};
    EXPECT_THAT(titles(), testing::IsEmpty());
    files.sites[0].metrics[1].tokens = {450};
    EXPECT_THAT(titles(), testing::Contains("Steps without whole blocks"));
    EXPECT_TRUE(
        has_note("EAST metrics.jsonl: 1 lines, from 2026-03-01T01:00:00Z to "
                 "2026-03-01T01:00:00Z, have a number of tokens that is no multiple of "
                 "rounds.block_tokens."));
}

TEST_F(Steps, OfATrainerThatJoinsAgainAfterOneBeginWithOne)
{
    files.sites[0].metrics[1].step = 1;
    files.sites[0].metrics[2].step = 2;
    files.sites[0].metrics[3].step = 3;
    EXPECT_THAT(titles(), testing::IsEmpty());
}

// EAST's third step, from 1:00 to 1:30, contains a freeze. An edit makes the freeze longer.
TEST_F(Steps, ThatEndWhileTheTrainerDidNotRunAreADoubt)
{
    auto const freeze = [&](double from, double to) {
        auto& own = files.sites[0].events;
        std::erase_if(own, [](Event const& e) { return e.type == "frozen"; });
        own.insert(own.end() - 2,
                   event(1.5, "frozen", "EAST",
                         {{"from", format_time(at(from))}, {"to", format_time(at(to))}}));
    };
    freeze(1.1, 1.4);
    EXPECT_THAT(titles(), testing::IsEmpty());
    freeze(0.9, 1.6);
    EXPECT_THAT(titles(), testing::Contains("Lines of a frozen trainer"));
    EXPECT_TRUE(
        has_note("EAST: 3 lines of events.jsonl and metrics.jsonl, from 2026-03-01T01:00:00Z to "
                 "2026-03-01T01:30:00Z, are from a time in which job 1 did not run, by its event "
                 "frozen: from 2026-03-01T00:54:00Z to 2026-03-01T01:36:00Z"));
    EXPECT_EQ(bound(), Bound::at_least);
}

TEST_F(Steps, ThatStalledHaveANote)
{
    auto& steps = files.sites[0].metrics;
    steps.clear();
    for (int i = 0; i < 60; ++i) steps.push_back(step(0.5 + (i + 1) / 120.0, {900}, 30, i + 1));
    steps.push_back(step(2, {900}, 3600, 61));
    EXPECT_THAT(titles(), testing::ElementsAre("Stalled steps"));
    EXPECT_TRUE(
        has_note("EAST: 1 of its steps in metrics.jsonl took much longer than the others, from "
                 "2026-03-01T01:00:30Z to 2026-03-01T02:00:00Z. The bill has the power of training "
                 "for 3570.0 s"));
    EXPECT_EQ(bound(), Bound::exact);
}

TEST_F(Steps, OfATrainerThatJoinsAgainBeginWithOne)
{
    auto& steps = files.sites[0].metrics;
    steps[2].step = 1;
    steps[3].step = 2;
    EXPECT_THAT(titles(), testing::IsEmpty());
}

TEST_F(Steps, OfTwoTrainersAtAHandOverHaveANoteOnly)
{
    auto& steps = files.sites[0].metrics;
    steps[1].duration += FractionalSeconds{20};
    EXPECT_THAT(titles(), testing::Contains("Two trainers at once"));
    EXPECT_EQ(bound(), Bound::exact);
}

TEST_F(Steps, WhileTheJobWasSuspendedAreADoubt)
{
    poller(0.6, "job-state", "EAST", {{"job", "1"}, {"state", "SUSPENDED"}});
    poller(1.6, "job-state", "EAST", {{"job", "1"}, {"state", "RUNNING"}});
    EXPECT_THAT(titles(), testing::Contains("Steps during a pause"));
    EXPECT_TRUE(
        has_note("EAST: metrics.jsonl has steps of 3240.0 s from 2026-03-01T00:36:00Z to "
                 "2026-03-01T01:36:00Z, and by the poller's events.jsonl, job 1 was "
                 "suspended"));
    EXPECT_EQ(bound(), Bound::at_least);
}

TEST_F(Steps, OfATrainerThatLoggedItsSuspensionAreNoDoubt)
{
    auto& own = files.sites[0].events;
    files.sites[0].metrics[2].duration = FractionalSeconds{1800};
    own.insert(own.end() - 2,
               event(1.5, "frozen", "EAST",
                     {{"from", format_time(at(1.1))}, {"to", format_time(at(1.4))}}));
    poller(1.1, "job-state", "EAST", {{"job", "1"}, {"state", "SUSPENDED"}});
    poller(1.41, "job-state", "EAST", {{"job", "1"}, {"state", "RUNNING"}});
    EXPECT_THAT(titles(), testing::IsEmpty());
}

TEST_F(Steps, OfAJobThatGoesOnAlthoughItsSiteIsHeldAreADoubt)
{
    poller(0.2, "hold", "EAST", {{"cause", "person"}, {"why", "maintenance"}});
    poller(1.7, "release", "EAST", {{"cause", "person"}});
    std::ranges::stable_sort(files.poller_events, {}, &Event::time);
    EXPECT_THAT(titles(), testing::ElementsAre("Steps during a pause"));
    EXPECT_TRUE(has_note("the site was held. Its job should have stopped"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Steps, OfAJobThatAPersonStartedWhileTheSiteWasHeldHaveANoteOnly)
{
    files.poller_events.insert(files.poller_events.begin(),
                               event(-1, "hold", "EAST", {{"cause", "person"}}));
    EXPECT_THAT(titles(), testing::ElementsAre("Steps during a pause"));
    EXPECT_EQ(bound(), Bound::exact);
}

// WEST's trainer is killed in hour 3, its poller is gone, and EAST goes on.
class UnnoticedEnd : public test::CheckedRun {
  protected:
    UnnoticedEnd()
    {
        files.sites[1].events.pop_back();
        forget_ends("WEST");
    }
};

TEST_F(UnnoticedEnd, IsAnUpperBound)
{
    poller(20, "decision", "EAST", {});
    EXPECT_THAT(titles(), testing::ElementsAre("Unknown end of a job"));
    EXPECT_TRUE(has_note("WEST: nobody reported the end of job 1"));
    EXPECT_TRUE(
        has_note("from 2026-03-01T03:00:00Z to 2026-03-01T20:00:00Z, or the job still "
                 "runs. The bill has the latest: 61200.0 s and 6.8 kWh"));
    EXPECT_EQ(bound(), Bound::at_most);
}

TEST_F(UnnoticedEnd, IsTheTimeLimitAtTheLatest)
{
    files.run.sites[1].launch.time_limit = "03:00:00";
    files.run.sites[1].launch.grace = Seconds{0};
    files.poller_events.insert(files.poller_events.begin() + 2,
                               event(1, "job-submitted", "WEST", {{"job", "1"}}));
    files.poller_events.insert(files.poller_events.begin() + 3,
                               event(1, "job-started", "WEST", {{"job", "1"}}));
    poller(20, "decision", "EAST", {});
    EXPECT_THAT(titles(), testing::ElementsAre("Unknown end of a job"));
    EXPECT_DOUBLE_EQ(seconds(1, PowerState::idle), 3600);
    EXPECT_EQ(bound(), Bound::at_most);
}

TEST_F(UnnoticedEnd, IsNoneWhileTheTrainerLogsSteps)
{
    poller(3.1, "decision", "EAST", {});
    EXPECT_THAT(titles(), testing::IsEmpty());
}

TEST_F(UnnoticedEnd, IsNoneWhileTheTrainerWaitsForOthers)
{
    files.sites[1].events.push_back(test::state(3, "WEST", "exchange"));
    poller(20, "decision", "EAST", {});
    EXPECT_THAT(titles(), testing::IsEmpty());
}

}  // namespace
}  // namespace curtail::account
