// SPDX-License-Identifier: Apache-2.0
// Which ends count as failures, what ends a series of failures, and how long the next job waits.
#include "poller/plan/fixture.hpp"

namespace curtail::plan {
namespace {

TEST(Failures, BackoffDoublesWhileJobsFailAtOnce)
{
    SiteState state;
    int second = 0;
    std::vector<int> tries;
    std::vector<Job> jobs;
    while (tries.size() < 9) {
        auto l = poll(state, open, jobs, second);
        state = l.state;
        if (l.actions[0].type == Type::submit) {
            tries.push_back(second);
            auto const id = std::to_string(tries.size());
            state = done(state, l.actions[0], second, id);
            jobs.push_back(ended(id, second + 1, 1));
            jobs.back().started = at(second);
            jobs.back().intent = l.actions[0].intent;
        }
        ++second;
    }
    std::vector<int> pauses;
    for (std::size_t i = 1; i < tries.size(); ++i) pauses.push_back(tries[i] - tries[i - 1]);
    EXPECT_THAT(pauses, testing::ElementsAre(11, 21, 41, 81, 161, 321, 601,
                                             601));  // update one second after each submission
    auto const l = poll(state, open, jobs, second);
    EXPECT_THAT(l.actions[0].why, HasSubstr("ended at once (FAILED, exit code 1); next try in"));
}

TEST(Failures, SuccessorOfACleanJobStartsAtOnce)
{
    auto state = tracking({job("7", Job::State::running)});
    state.failures = 3;
    auto const l = poll(state, open, {ended("7", 60, 0)}, 61);
    EXPECT_EQ(l.actions[0].type, Type::submit);
    EXPECT_EQ(l.state.failures, 0);
}

TEST(Failures, BackoffDoublesWhileJobsFailAfterAWhile)
{
    auto state = tracking({job("7", Job::State::running)});
    state.failures = 3;
    auto const l = poll(state, open, {ended("7", 60, 1)}, 61);
    EXPECT_EQ(l.state.failures, 4);
    EXPECT_EQ(l.actions[0].type, Type::wait);
    EXPECT_THAT(
        l.actions[0].why,
        HasSubstr(
            "job 7 failed (FAILED, exit code 1); next try in 1m20s (consecutive failures: 4)"));
    ASSERT_THAT(l.events, SizeIs(2));
    EXPECT_EQ(l.events[1].type, JobChange::Type::failed);
    EXPECT_EQ(l.events[1].retry_after, Millis(80'000));
}

TEST(Failures, AJobThatStoppedOnRequestDelaysNothingAlthoughItRanBriefly)
{
    auto state = tracking({job("7", Job::State::running)});
    state.failures = 3;
    auto stopped = ended("7", 5, 0);
    stopped.stopped_on_request = true;
    auto const l = poll(state, open, {stopped}, 6);
    EXPECT_EQ(l.actions[0].type, Type::submit);
    EXPECT_EQ(l.state.failures, 0);
}

TEST(Failures, ALongRunDoesNotEndASeriesOfFailures)
{
    auto state = tracking({job("7", Job::State::running)});
    state.failures = 3;
    auto const l = poll(state, open, {ended("7", 660, 1)}, 661);
    EXPECT_EQ(l.state.failures, 4);
    EXPECT_EQ(l.events.back().retry_after, Millis(80'000));
}

TEST(Failures, SixFailuresInARowHoldTheSite)
{
    auto state = tracking({job("7", Job::State::running)});
    state.failures = 4;
    EXPECT_FALSE(observe(state, {ended("7", 660, 70)}, at(661), limits).hold);
    state.failures = 5;
    auto const hold = observe(state, {ended("7", 660, 70)}, at(661), limits).hold;
    ASSERT_TRUE(hold);
    EXPECT_EQ(hold->cause, HoldRequest::Cause::failures);
    EXPECT_EQ(hold->why, "6 jobs failed in a row; the last: job 7 failed (FAILED, exit code 70)");
}

TEST(Failures, AJobWhoseTrainingDivergedHoldsTheSiteAtOnce)
{
    auto const state = tracking({job("7", Job::State::running)});
    auto const hold = observe(state, {ended("7", 660, 65)}, at(661), limits).hold;
    ASSERT_TRUE(hold);
    EXPECT_EQ(hold->cause, HoldRequest::Cause::failures);
    EXPECT_EQ(hold->why, "job 7 failed (FAILED, exit code 65); another job would fail too");
}

TEST(Failures, AJobThatThePollerDrainedEndsASeriesOfFailures)
{
    for (auto const& end : {ended("7", 600, 0), ended("7", 60, 137)}) {
        auto state = tracking({job("7", Job::State::running)});
        state.failures = 3;
        state = done(state, {Type::drain, {"7"}, {"w1"}, {}, "closed"}, 5);
        EXPECT_EQ(observe(state, {end}, at(700), limits).state.failures, 0);
    }
}

TEST(Failures, AJobThatReceivedNoDrainDoesNotEndASeriesOfFailures)
{
    auto state = tracking({job("7", Job::State::running)});
    state.failures = 3;
    Action const drain{Type::drain, {"7"}, {"w1"}, {}, "closed"};
    state = begin(state, drain, at(5));
    state = finish(state, drain, {Outcome::Status::unknown, {}, "timed out"}, at(5), limits).state;
    EXPECT_EQ(observe(state, {ended("7", 60, 137)}, at(700), limits).state.failures, 3);
}

struct Setback {
    char const* name;
    Job end;
};

std::vector<Setback> setbacks()
{
    auto displaced = ended("7", 60, 1);
    displaced.launcher_state = "PREEMPTED";
    displaced.end = Job::End::displaced;
    auto unknown = ended("7", 60, 0);
    unknown.exit_code.reset();
    unknown.end = Job::End::unknown;
    return {{"ended at once with exit code 0", ended("7", 2, 0)},
            {"preempted or its node failed", displaced},
            {"may not train now", ended("7", 2, 75)},
            {"end unknown", unknown}};
}

TEST(Failures, SetbacksAreNotCounted)
{
    for (auto const& [name, end] : setbacks()) {
        auto state = tracking({job("7", Job::State::running)});
        state.failures = 5;
        auto const update = observe(state, {end}, at(61), limits);
        EXPECT_EQ(update.state.failures, 5) << name;
        EXPECT_FALSE(update.hold) << name;
        EXPECT_EQ(update.events.back().retry_after, Millis(10'000)) << name;
    }
}

TEST(Failures, RepeatedSetbacksDoubleThePause)
{
    SiteState state;
    std::vector<Millis> pauses;
    for (int second = 0; second < 40; second += 10) {
        auto const id = std::to_string(second);
        auto running = job(id, Job::State::running);
        running.started = at(second);
        state = observe(state, {running}, at(second), limits).state;
        auto const update = observe(state, {ended(id, second + 2, 75)}, at(second + 2), limits);
        state = update.state;
        pauses.push_back(*update.events.back().retry_after);
    }
    EXPECT_THAT(pauses, testing::ElementsAre(Seconds{10}, Seconds{20}, Seconds{40}, Seconds{80}));
    EXPECT_EQ(state.failures, 0);
}

TEST(Failures, ACancelByAPersonHoldsTheSite)
{
    for (auto const before : {Job::State::running, Job::State::pending}) {
        auto const state = tracking({job("7", before)});
        auto cancelled = ended("7", 60, 143);
        cancelled.launcher_state = "CANCELLED";
        cancelled.end = Job::End::cancelled;
        auto const update = observe(state, {cancelled}, at(61), limits);
        ASSERT_TRUE(update.hold);
        EXPECT_EQ(update.hold->cause, HoldRequest::Cause::cancel);
        EXPECT_EQ(update.state.failures, 0);
        ASSERT_THAT(update.events.back().type, JobChange::Type::ended);
    }
}

TEST(Failures, ACancelByThePollerDoesNotHoldTheSite)
{
    auto state = tracking({job("7", Job::State::running)});
    state = done(state, {Type::cancel, {"7"}, {"w1"}, {}, "closed"}, 5);
    auto cancelled = ended("7", 60, 143);
    cancelled.end = Job::End::cancelled;
    EXPECT_FALSE(observe(state, {cancelled}, at(61), limits).hold);
}

TEST(Failures, LostAnswerToAnArrivedSubmissionIsNoFailure)
{
    auto const submit = poll({}, open, {}, 0).actions[0];
    Outcome const silence{Outcome::Status::unknown, {}, "timed out"};
    auto const unknown = finish(begin({}, submit, at(0)), submit, silence, at(1), limits).state;
    auto const arrived =
        poll(unknown, open, {job("7", Job::State::running, submit.intent.value)}, 3);
    EXPECT_EQ(arrived.state.failures, 0);
    EXPECT_FALSE(arrived.state.retry_at);
    auto const given_up = poll(unknown, open, {}, 6);
    EXPECT_EQ(given_up.state.failures, 0) << "the cluster's silence is no failure of the site";
    EXPECT_THAT(given_up.actions[0].why,
                HasSubstr("submission failed (timed out); next try in 5.0 s"));
    auto const again = poll(given_up.state, open, {}, 11).actions[0];
    ASSERT_EQ(again.type, Type::submit);
    auto const twice =
        finish(begin(given_up.state, again, at(11)), again, silence, at(12), limits).state;
    EXPECT_EQ(twice.retry_at, at(32)) << "the second pause is twice as long";
    auto const restarted = recover(begin({}, submit, at(0)), at(1));
    EXPECT_EQ(poll(restarted, open, {}, 6).actions[0].type, Type::submit)
        << "the death of a poller delays nothing";
}

TEST(Failures, AVanishedJobHasAnUnknownEnd)
{
    auto const l = poll(tracking({job("7", Job::State::running)}), open, {}, 100);
    ASSERT_THAT(l.events, SizeIs(2));
    EXPECT_EQ(l.events[0].state, "GONE");
    EXPECT_EQ(l.state.failures, 0);
    EXPECT_THAT(l.actions[0].why,
                HasSubstr("job 7 is gone; its exit status is unknown (GONE); next try in 10.0 s"));
}

TEST(Failures, RefusedSubmissionBacksOffAndLostAnswerStaysUncertain)
{
    auto const submit = poll({}, open, {}, 0).actions[0];
    auto const begun = begin({}, submit, at(0));
    auto const refused =
        finish(begun, submit, {Outcome::Status::refused, {}, "no such partition"}, at(1), limits);
    EXPECT_FALSE(refused.state.intent);
    EXPECT_EQ(refused.events[0].retry_after, Millis(10'000));
    EXPECT_THAT(poll(refused.state, open, {}, 2).actions[0].why,
                HasSubstr("no such partition); next try in 9.0 s"));
    EXPECT_EQ(refused.state.failures, 0);
    auto const unknown =
        finish(begun, submit, {Outcome::Status::unknown, {}, "timed out"}, at(9), limits);
    EXPECT_TRUE(poll(unknown.state, open, {}, 13).state.intent);
    EXPECT_FALSE(poll(unknown.state, open, {}, 14).state.intent);
}

}  // namespace
}  // namespace curtail::plan
