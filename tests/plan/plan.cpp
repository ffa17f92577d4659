// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include "plan/fixture.hpp"
#include "plan/set_back.hpp"

namespace curtail::plan {
namespace {

TEST(Plan, OpenWindowWithoutJobGetsOne)
{
    auto const l = look({}, open, {}, 0);
    ASSERT_THAT(l.actions, SizeIs(1));
    EXPECT_EQ(l.actions[0].kind, Kind::submit);
    EXPECT_EQ(l.actions[0].window.value, "w1");
    EXPECT_EQ(look({}, closed, {}, 0).actions[0].kind, Kind::wait);
}

TEST(Plan, OpenIntentIsMatchedByTheJobThatCarriesIt)
{
    auto const submit = look({}, open, {}, 0).actions[0];
    auto const crashed = recover(begin({}, submit, at(0)), at(1));
    auto const waiting = look(crashed, open, {}, 2);
    EXPECT_EQ(waiting.actions[0].kind, Kind::wait);
    EXPECT_THAT(waiting.actions[0].why, HasSubstr("not known yet"));
    auto const found = look(crashed, open, {job("7", Job::State::pending, submit.intent.value)}, 3);
    EXPECT_FALSE(found.state.intent);
    ASSERT_THAT(found.happenings, SizeIs(1));
    EXPECT_EQ(found.happenings[0].kind, Happening::Kind::submitted);
    EXPECT_EQ(found.actions[0].kind, Kind::wait);
}

TEST(Plan, IntentWhoseJobRanAndEndedMeanwhileIsNotSubmittedAgain)
{
    auto const submit = look({}, open, {}, 0).actions[0];
    auto gone = ended("7", 30, 0);
    gone.intent = submit.intent;
    auto const l = look(begin({}, submit, at(0)), closed, {gone}, 40);
    EXPECT_FALSE(l.state.intent);
    ASSERT_THAT(l.happenings, SizeIs(3));
    EXPECT_EQ(l.happenings[1].when, at(0)) << "the launcher's time, not that of the look";
    EXPECT_EQ(l.happenings[2].kind, Happening::Kind::ended);
    EXPECT_EQ(l.happenings[2].when, at(30));
    EXPECT_EQ(l.happenings[2].exit_code, 0);
}

TEST(Plan, IntentThatSlurmNeverShowsIsGivenUpAfterSettling)
{
    auto const submit = look({}, open, {}, 0).actions[0];
    auto const restarted = recover(begin({}, submit, at(0)), at(9));
    EXPECT_EQ(look(restarted, open, {}, 13).actions[0].kind, Kind::wait)
        << "the dead poller's sbatch may just have got through";
    auto const again = recover(restarted, at(12));
    auto const l = look(again, open, {}, 14);
    EXPECT_EQ(l.actions[0].kind, Kind::submit)
        << "a poll each minute must not begin to wait anew each time";
    EXPECT_NE(l.actions[0].intent, submit.intent);
}

TEST(Plan, ClosedWindowDrainsThenDrainsAgainThenCancels)
{
    std::vector<Job> const running{job("7", Job::State::running)};
    auto state = tracking(running);
    std::vector<Kind> kinds;
    int drained = 0;
    for (int second = 1; second <= 131; ++second) {
        auto l = look(state, closed, running, second);
        state = l.state;
        for (auto const& action : l.actions) {
            if (action.kind == Kind::wait) continue;
            kinds.push_back(action.kind);
            state = begin(state, action, at(second));
            auto after = finish(state, action, {}, at(second), rules);
            for (auto const& h : after.happenings) drained += h.kind == Happening::Kind::drained;
            state = after.state;
        }
    }
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), Kind::drain), 40);  // every 3 s for 120 s
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), Kind::cancel), 3);  // at 121, 126, 131 s
    EXPECT_EQ(drained, 1) << "repeated signals are one event";
}

TEST(Plan, ReopenedWindowWaitsForTheDrainingJobThenGetsItsOwn)
{
    std::vector<Job> const running{job("7", Job::State::running)};
    auto state = tracking(running);
    state = done(state, look(state, closed, running, 1).actions[0], 1);
    auto const reopened = look(state, open, running, 2);
    EXPECT_EQ(reopened.actions[0].kind, Kind::wait);
    auto const again = look(state, open, running, 5);
    ASSERT_THAT(again.actions, SizeIs(1));
    EXPECT_EQ(again.actions[0].kind, Kind::drain)
        << "a lost signal must not keep the site without its next job";
    auto const gone = look(state, open, {ended("7", 6, 0)}, 7);
    EXPECT_EQ(gone.actions[0].kind, Kind::submit) << "who was asked to go has not failed";
    EXPECT_EQ(gone.state.failures, 0);
}

TEST(Plan, JobOfAWindowThatIsOverMakesRoomEvenIfNobodyLookedInBetween)
{
    Wish const next{true, {"w2"}, "the window is open"};
    std::vector<Job> const running{job("7", Job::State::running)};
    auto state = tracking(running);
    auto const l = look(state, next, running, 1);
    ASSERT_THAT(l.actions, SizeIs(1));
    EXPECT_EQ(l.actions[0].kind, Kind::drain);
    EXPECT_THAT(l.actions[0].why, HasSubstr("its window, of w1, is over"));
    state = done(state, l.actions[0], 1);
    EXPECT_EQ(look(state, next, {ended("7", 2, 0)}, 3).actions[0].kind, Kind::submit);
}

TEST(Plan, PendingJobOfAClosedWindowLeavesTheQueue)
{
    std::vector<Job> const pending{job("7", Job::State::pending)};
    auto state = tracking(pending);
    auto const l = look(state, closed, pending, 1);
    EXPECT_EQ(l.actions[0].kind, Kind::cancel_pending);
    state = done(state, l.actions[0], 1);
    EXPECT_EQ(look(state, closed, {job("7", Job::State::running)}, 2).actions[0].kind, Kind::drain)
        << "it started meanwhile";
}

TEST(Plan, OfTwoJobsTheOlderStays)
{
    auto const both_run =
        std::vector{job("7", Job::State::running), job("8", Job::State::running, "i1")};
    auto const l = look(tracking(both_run), open, both_run, 1);
    ASSERT_THAT(l.actions, SizeIs(2));
    EXPECT_EQ(l.actions[0].kind, Kind::drain);
    EXPECT_EQ(l.actions[0].job.value, "8");
    auto const one_waits =
        std::vector{job("7", Job::State::pending), job("8", Job::State::running, "i1")};
    auto const m = look(tracking(one_waits), open, one_waits, 1);
    EXPECT_EQ(m.actions[0].kind, Kind::cancel_pending);
    EXPECT_EQ(m.actions[0].job.value, "7");
}

TEST(Plan, JobWithoutAnIntentOfOursIsNeitherTakenOverNorStoppedNorAReasonToWait)
{
    std::vector<Job> const foreign{job("7", Job::State::running, "")};
    auto const l = look({}, closed, foreign, 1);
    EXPECT_TRUE(l.state.jobs.empty());
    EXPECT_TRUE(l.happenings.empty());
    ASSERT_THAT(l.actions, SizeIs(1));
    EXPECT_EQ(l.actions[0].kind, Kind::wait);
    EXPECT_EQ(look({}, open, foreign, 1).actions[0].kind, Kind::submit);
    EXPECT_THAT(warning_of(l.state, foreign), HasSubstr("job 7 is called like a job of this site"));
    auto const ours = tracking({job("7", Job::State::running)});
    EXPECT_EQ(warning_of(ours, foreign), "") << "its comment was taken off";
    EXPECT_EQ(look(ours, closed, foreign, 1).actions[0].kind, Kind::drain);
}

TEST(Plan, NumberThatComesBackWithAnotherIntentIsAnotherJob)
{
    auto const l = look(tracking({job("7", Job::State::running, "i0")}), open,
                        {job("7", Job::State::running, "i1")}, 30);
    ASSERT_THAT(l.state.jobs, SizeIs(1));
    EXPECT_EQ(l.state.jobs[0].intent.value, "i1");
    ASSERT_THAT(l.actions, SizeIs(1));
    EXPECT_EQ(l.actions[0].kind, Kind::wait);
}

TEST(Plan, WarningsAreOfJobsThatAreThere)
{
    auto held = job("7", Job::State::pending);
    held.reason = "JobHeldUser";
    held.warning = "job 7 waits for JobHeldUser";
    auto over = ended("6", 1, 0);
    over.warning = "was strange";
    auto const l = look(tracking({held}), open, {over, held}, 1);
    EXPECT_EQ(warning_of(l.state, {over, held}), "job 7 waits for JobHeldUser");
    EXPECT_EQ(l.actions[0].why, "job 7 is in the queue (JobHeldUser)");
}

/// All drains of a job that runs on, each with this outcome; answers the seconds of all acts.
std::vector<std::pair<int, Kind>> acts_while(Outcome::Kind drain, int period, int until,
                                             Rules const& with)
{
    std::vector<Job> const running{job("7", Job::State::running)};
    auto state = tracking(running);
    std::vector<std::pair<int, Kind>> acts;
    for (int second = 1; second <= until; second += period) {
        state = observe(state, running, at(second), with).state;
        for (auto const& action : decide(state, closed, running, at(second), with)) {
            if (action.kind == Kind::wait) continue;
            acts.emplace_back(second, action.kind);
            state = begin(state, action, at(second));
            bool const drains = action.kind == Kind::drain;
            state = finish(state, action, {drains ? drain : Outcome::Kind::done, {}, {}},
                           at(second), with)
                        .state;
        }
    }
    return acts;
}
int first_cancel(std::vector<std::pair<int, Kind>> const& acts)
{
    auto const it = std::find_if(acts.begin(), acts.end(),
                                 [](auto const& act) { return act.second == Kind::cancel; });
    return it == acts.end() ? 0 : it->first;
}

TEST(Plan, GraceBeginsWithTheFirstDrainThatArrives)
{
    std::vector<Job> const running{job("7", Job::State::running)};
    auto state = tracking(running);
    Action const drain{Kind::drain, {"7"}, {"w1"}, {}, "closed"};
    for (int second : {1, 60, 119}) {
        state = begin(state, drain, at(second));
        auto const lost =
            finish(state, drain, {Outcome::Kind::unknown, {}, "timed out"}, at(second), rules);
        EXPECT_TRUE(lost.happenings.empty());
        state = lost.state;
    }
    EXPECT_EQ(decide(state, closed, running, at(125), rules)[0].kind, Kind::drain)
        << "it has had no chance to stop yet";
    state = begin(state, drain, at(125));
    auto const arrived = finish(state, drain, {}, at(125), rules);
    ASSERT_THAT(arrived.happenings, SizeIs(1));
    EXPECT_EQ(decide(arrived.state, closed, running, at(244), rules)[0].kind, Kind::drain);
    EXPECT_EQ(decide(arrived.state, closed, running, at(245), rules)[0].kind, Kind::cancel);
}

TEST(Plan, JobThatCannotBeDrainedIsCancelledMuchLater)
{
    EXPECT_EQ(first_cancel(acts_while(Outcome::Kind::unknown, 1, 400, rules)), 1 + 360);
    EXPECT_EQ(first_cancel(acts_while(Outcome::Kind::refused, 1, 400, rules)), 1 + 360);
    EXPECT_EQ(first_cancel(acts_while(Outcome::Kind::done, 1, 400, rules)), 1 + 120);
}

TEST(Plan, PollEachMinuteDrainsTwiceBeforeItCancels)
{
    auto short_grace = rules;
    short_grace.grace = Millis(15'000);
    auto const acts = acts_while(Outcome::Kind::done, 60, 200, short_grace);
    EXPECT_THAT(acts,
                testing::ElementsAre(std::pair(1, Kind::drain), std::pair(61, Kind::drain),
                                     std::pair(121, Kind::cancel), std::pair(181, Kind::cancel)));
}

TEST(Plan, WhatAJobLeavesBehindIsSweptAndItsFailureStillCounts)
{
    auto left = job("7", Job::State::ending);
    left.leftovers = true;
    auto state = tracking({job("7", Job::State::running)});
    auto l = look(state, open, {left}, 30);
    ASSERT_THAT(l.actions, SizeIs(1));
    EXPECT_EQ(l.actions[0].kind, Kind::sweep);
    state = begin(l.state, l.actions[0], at(30));
    auto const swept = finish(state, l.actions[0], {}, at(30), rules);
    EXPECT_TRUE(swept.happenings.empty()) << "it was over before";
    EXPECT_EQ(look(swept.state, open, {left}, 34).actions[0].kind, Kind::wait);
    EXPECT_EQ(look(swept.state, open, {left}, 35).actions[0].kind, Kind::sweep);
    EXPECT_EQ(look(swept.state, open, {ended("7", 29, 137)}, 36).state.failures, 1);
    EXPECT_EQ(
        look(tracking({job("7", Job::State::running)}), open, {job("7", Job::State::ending)}, 30)
            .actions[0]
            .kind,
        Kind::wait)
        << "what ends by itself is left to it";
}

TEST(Plan, ClockThatWasSetBackHoldsNothingUp)
{
    auto state = tracking({job("7", Job::State::running)}, 4000);
    state = done(state, {Kind::drain, {"7"}, {"w1"}, {}, ""}, 4001);
    auto const drained = set_back(state, at(400), rules);
    EXPECT_EQ(drained.jobs[0].last_drain, at(400));
    EXPECT_EQ(look(drained, closed, {job("7", Job::State::running)}, 404).actions[0].kind,
              Kind::drain);
    SiteState failed;
    failed.failures = 1;
    failed.retry_at = at(4000);
    EXPECT_EQ(set_back(failed, at(0), rules).retry_at, at(600));
    EXPECT_EQ(set_back(failed, at(3500), rules), failed);
}

TEST(Plan, StateSurvivesStorage)
{
    auto state = tracking({job("7", Job::State::running), job("8", Job::State::pending, "i1")});
    state = begin(state, {Kind::drain, {"7"}, {"w1"}, {}, ""}, at(4));
    state = begin(state, {Kind::submit, {}, {"w2"}, {"i9"}, ""}, at(5));
    state.failures = 2;
    state.retry_at = at(9);
    state.failure = "why";
    auto const read = read_site_state(to_json(state), "test");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, state);
    EXPECT_FALSE(read_site_state(json::Value("x"), "test"));
}

}  // namespace
}  // namespace curtail::plan
