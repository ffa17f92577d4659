// SPDX-License-Identifier: Apache-2.0
// Which ends count as failures, what ends a series of failures, and how long the next job waits.
#include "plan/fixture.hpp"

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
    EXPECT_EQ(l.events[1].type, JobEventType::failed);
    EXPECT_EQ(l.events[1].retry_after, Millis(80'000));
}

TEST(Failures, FailureOfAProvenJobStartsANewSeries)
{
    auto state = tracking({job("7", Job::State::running)});
    state.failures = 9;
    auto const l = poll(state, open, {ended("7", 600, 137)}, 601);
    EXPECT_EQ(l.state.failures, 1);
    EXPECT_EQ(l.events.back().retry_after, Millis(10'000));
}

TEST(Failures, StoppedJobThatWorkedEndsASeriesOfFailures)
{
    auto const after = [](Job const& end, Rules const& with) {
        auto state = tracking({job("7", Job::State::running)});
        state.failures = 9;
        state = done(state, {Type::drain, {"7"}, {"w1"}, {}, "closed"}, 5);
        return observe(state, {end}, at(700), with).state.failures;
    };
    EXPECT_EQ(after(ended("7", 600, 0), rules), 0);
    EXPECT_EQ(after(ended("7", 600, 137), rules), 0) << "it ran long enough to prove that it works";
    EXPECT_EQ(after(ended("7", 60, 0), rules), 0) << "it stopped as requested";
    EXPECT_EQ(after(ended("7", 60, 137), rules), 9) << "it proves nothing";
    EXPECT_EQ(after(ended("7", 10, 0), rules), 9) << "it may have ended before it did any work";
}

TEST(Failures, LostAnswerToAnArrivedSubmissionIsNoFailure)
{
    auto const submit = poll({}, open, {}, 0).actions[0];
    Outcome const silence{Outcome::Status::unknown, {}, "timed out"};
    auto const unknown = finish(begin({}, submit, at(0)), submit, silence, at(1), rules).state;
    auto const arrived =
        poll(unknown, open, {job("7", Job::State::running, submit.intent.value)}, 3);
    EXPECT_EQ(arrived.state.failures, 0);
    EXPECT_FALSE(arrived.state.retry_at);
    auto const given_up = poll(unknown, open, {}, 6);
    EXPECT_EQ(given_up.state.failures, 1);
    EXPECT_THAT(
        given_up.actions[0].why,
        HasSubstr("submission failed (timed out); next try in 5.0 s (consecutive failures: 1)"));
    auto const again = poll(given_up.state, open, {}, 11).actions[0];
    ASSERT_EQ(again.type, Type::submit);
    auto const twice =
        finish(begin(given_up.state, again, at(11)), again, silence, at(12), rules).state;
    EXPECT_EQ(twice.retry_at, at(32)) << "the second pause is twice as long";
    auto const restarted = recover(begin({}, submit, at(0)), at(1));
    EXPECT_EQ(poll(restarted, open, {}, 6).state.failures, 0)
        << "the death of a poller is no failure of the site";
}

TEST(Failures, DisplacedJobDoesNotCountAsFailed)
{
    auto state = tracking({job("7", Job::State::running)});
    state.failures = 3;
    auto taken = ended("7", 60, 1);
    taken.launcher_state = "NODE_FAIL";
    taken.end = Job::End::displaced;
    auto const l = poll(state, open, {taken}, 61);
    EXPECT_EQ(l.state.failures, 3);
    EXPECT_EQ(l.events.back().retry_after, Millis(10'000));
    EXPECT_EQ(poll(l.state, open, {taken}, 71).actions[0].type, Type::submit);
}

TEST(Failures, VanishedJobCountsAsFailed)
{
    auto const l = poll(tracking({job("7", Job::State::running)}), open, {}, 100);
    ASSERT_THAT(l.events, SizeIs(2));
    EXPECT_EQ(l.events[0].detail, "GONE");
    EXPECT_THAT(l.actions[0].why, HasSubstr("job 7 failed (GONE); next try in 10.0 s"));
}

TEST(Failures, RefusedSubmissionBacksOffAndLostAnswerStaysUncertain)
{
    auto const submit = poll({}, open, {}, 0).actions[0];
    auto const begun = begin({}, submit, at(0));
    auto const refused =
        finish(begun, submit, {Outcome::Status::refused, {}, "no such partition"}, at(1), rules);
    EXPECT_FALSE(refused.state.intent);
    EXPECT_EQ(refused.events[0].retry_after, Millis(10'000));
    EXPECT_THAT(poll(refused.state, open, {}, 2).actions[0].why,
                HasSubstr("no such partition); next try in 9.0 s (consecutive failures: 1)"));
    auto const unknown =
        finish(begun, submit, {Outcome::Status::unknown, {}, "timed out"}, at(9), rules);
    EXPECT_TRUE(poll(unknown.state, open, {}, 13).state.intent);
    EXPECT_FALSE(poll(unknown.state, open, {}, 14).state.intent);
}

}  // namespace
}  // namespace curtail::plan
