#include "plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/set_back.hpp"

namespace curtail::plan {
namespace {

using Kind = Action::Kind;
using testing::HasSubstr;
using testing::SizeIs;

Time at(int seconds) { return from_unix_ms(1'768'151'100'000) + Seconds(seconds); }
Wish const open{true, {"w1"}, "the window is open"};
Wish const closed{false, {}, "the window is closed"};
Rules const rules{};

Job job(std::string id, Job::State state, std::string intent = "i0")
{
    return {{std::move(id)},
            {"w1"},
            {std::move(intent)},
            state,
            "",
            {},
            state == Job::State::pending ? std::nullopt : std::optional(at(0)),
            {}};
}
Job ended(std::string id, int second, int exit_code)
{
    auto one = job(std::move(id), Job::State::ended);
    one.word = exit_code == 0 ? "COMPLETED" : "FAILED";
    one.exit_code = exit_code;
    one.ended = at(second);
    return one;
}

/// One look without effects: what is observed, then what is decided.
struct Look {
    SiteState state;
    std::vector<Happening> happenings;
    std::vector<Action> actions;
};
Look look(SiteState const& before, Wish const& wish, std::vector<Job> const& jobs, int second)
{
    auto seen = observe(before, jobs, at(second), rules);
    auto actions = decide(seen.state, wish, jobs, at(second), rules);
    return {std::move(seen.state), std::move(seen.happenings), std::move(actions)};
}
SiteState tracking(std::vector<Job> const& jobs, int second = 0) { return observe({}, jobs, at(second), rules).state; }
SiteState done(SiteState state, Action const& action, int second, std::string submitted = {})
{
    state = begin(std::move(state), action, at(second));
    return finish(std::move(state), action, {Outcome::Kind::done, {std::move(submitted)}, {}}, at(second), rules).state;
}

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
    EXPECT_EQ(look(restarted, open, {}, 13).actions[0].kind, Kind::wait) << "the dead poller's sbatch may just have got through";
    auto const again = recover(restarted, at(12));
    auto const l = look(again, open, {}, 14);
    EXPECT_EQ(l.actions[0].kind, Kind::submit) << "a poll each minute must not begin to wait anew each time";
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
    EXPECT_EQ(again.actions[0].kind, Kind::drain) << "a lost signal must not keep the site without its next job";
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
    auto unknown = running;
    unknown[0].window = {};
    EXPECT_EQ(look(tracking(unknown), next, unknown, 1).actions[0].kind, Kind::wait) << "a job of an unknown window may stay";
}

TEST(Plan, PendingJobOfAClosedWindowLeavesTheQueue)
{
    std::vector<Job> const pending{job("7", Job::State::pending)};
    auto state = tracking(pending);
    auto const l = look(state, closed, pending, 1);
    EXPECT_EQ(l.actions[0].kind, Kind::cancel_pending);
    state = done(state, l.actions[0], 1);
    EXPECT_EQ(look(state, closed, {job("7", Job::State::running)}, 2).actions[0].kind, Kind::drain) << "it started meanwhile";
}

TEST(Plan, OfTwoJobsTheOlderStays)
{
    auto const both_run = std::vector{job("7", Job::State::running), job("8", Job::State::running, "i1")};
    auto const l = look(tracking(both_run), open, both_run, 1);
    ASSERT_THAT(l.actions, SizeIs(2));
    EXPECT_EQ(l.actions[0].kind, Kind::drain);
    EXPECT_EQ(l.actions[0].job.value, "8");
    auto const one_waits = std::vector{job("7", Job::State::pending), job("8", Job::State::running, "i1")};
    auto const m = look(tracking(one_waits), open, one_waits, 1);
    EXPECT_EQ(m.actions[0].kind, Kind::cancel_pending);
    EXPECT_EQ(m.actions[0].job.value, "7");
}

TEST(Plan, JobThatFailsAtOnceGetsALaterAndLaterSuccessor)
{
    SiteState state;
    int second = 0;
    std::vector<int> tries;
    std::vector<Job> jobs;
    while (tries.size() < 9) {
        auto l = look(state, open, jobs, second);
        state = l.state;
        if (l.actions[0].kind == Kind::submit) {
            tries.push_back(second);
            auto const id = std::to_string(tries.size());
            state = done(state, l.actions[0], second, id);
            jobs.push_back(ended(id, second + 1, 1));
            jobs.back().started = at(second);
        }
        ++second;
    }
    std::vector<int> pauses;
    for (std::size_t i = 1; i < tries.size(); ++i) pauses.push_back(tries[i] - tries[i - 1]);
    EXPECT_THAT(pauses, testing::ElementsAre(11, 21, 41, 81, 161, 321, 601, 601));  // seen one second after each submission
    auto const l = look(state, open, jobs, second);
    EXPECT_THAT(l.actions[0].why, HasSubstr("ended at once (FAILED, exit code 1); next try in"));
}

TEST(Plan, JobThatLivedGetsItsSuccessorAtOnce)
{
    auto state = tracking({job("7", Job::State::running)});
    state.failures = 3;
    auto const l = look(state, open, {ended("7", 60, 1)}, 61);
    EXPECT_EQ(l.actions[0].kind, Kind::submit);
    EXPECT_EQ(l.state.failures, 0);
}

TEST(Plan, VanishedJobCountsAsEnded)
{
    auto const l = look(tracking({job("7", Job::State::running)}), open, {}, 100);
    ASSERT_THAT(l.happenings, SizeIs(1));
    EXPECT_EQ(l.happenings[0].word, "GONE");
    EXPECT_EQ(l.actions[0].kind, Kind::submit);
}

TEST(Plan, RefusedSubmissionBacksOffAndLostAnswerStaysInDoubt)
{
    auto const submit = look({}, open, {}, 0).actions[0];
    auto const begun = begin({}, submit, at(0));
    auto const refused = finish(begun, submit, {Outcome::Kind::refused, {}, "no such partition"}, at(1), rules);
    EXPECT_FALSE(refused.state.intent);
    EXPECT_EQ(refused.happenings[0].retry_after, Millis(10'000));
    EXPECT_THAT(look(refused.state, open, {}, 2).actions[0].why, HasSubstr("no such partition); next try in 9.0 s (failure 1 in a row)"));
    auto const unknown = finish(begun, submit, {Outcome::Kind::unknown, {}, "timed out"}, at(9), rules);
    EXPECT_TRUE(look(unknown.state, open, {}, 13).state.intent);
    EXPECT_FALSE(look(unknown.state, open, {}, 14).state.intent);
}

TEST(Plan, ClockThatWasSetBackHoldsNothingUp)
{
    auto state = tracking({job("7", Job::State::running)}, 4000);
    state = done(state, {Kind::drain, {"7"}, {"w1"}, {}, ""}, 4001);
    auto const drained = set_back(state, at(400), rules);
    EXPECT_EQ(drained.jobs[0].last_drain, at(400));
    EXPECT_EQ(look(drained, closed, {job("7", Job::State::running)}, 404).actions[0].kind, Kind::drain);
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
