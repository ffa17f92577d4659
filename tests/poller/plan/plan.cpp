// SPDX-License-Identifier: Apache-2.0
#include "poller/plan/plan.hpp"

#include "poller/plan/clamp_times.hpp"
#include "poller/plan/fixture.hpp"

namespace curtail::plan {
namespace {

TEST(Plan, OpenWindowWithoutJobGetsOne)
{
    auto const l = poll({}, open, {}, 0);
    ASSERT_THAT(l.actions, SizeIs(1));
    EXPECT_EQ(l.actions[0].type, Type::submit);
    EXPECT_EQ(l.actions[0].window.value, "w1");
    EXPECT_EQ(poll({}, closed, {}, 0).actions[0].type, Type::wait);
}

TEST(Plan, OpenIntentMatchesItsJob)
{
    auto const submit = poll({}, open, {}, 0).actions[0];
    auto const crashed = recover(begin({}, submit, at(0)), at(1));
    auto const waiting = poll(crashed, open, {}, 2);
    EXPECT_EQ(waiting.actions[0].type, Type::wait);
    EXPECT_THAT(waiting.actions[0].why, HasSubstr("is unconfirmed"));
    auto const found = poll(crashed, open, {job("7", Job::State::pending, submit.intent.value)}, 3);
    EXPECT_FALSE(found.state.intent);
    ASSERT_THAT(found.events, SizeIs(1));
    EXPECT_EQ(found.events[0].type, JobChange::Type::submitted);
    EXPECT_EQ(found.actions[0].type, Type::wait);
}

TEST(Plan, IntentOfAnEndedJobIsNotSubmittedAgain)
{
    auto const submit = poll({}, open, {}, 0).actions[0];
    auto gone = ended("7", 30, 0);
    gone.intent = submit.intent;
    auto const l = poll(begin({}, submit, at(0)), closed, {gone}, 40);
    EXPECT_FALSE(l.state.intent);
    ASSERT_THAT(l.events, SizeIs(3));
    EXPECT_EQ(l.events[1].at, at(0)) << "the launcher's time, not that of the poll";
    EXPECT_EQ(l.events[2].type, JobChange::Type::ended);
    EXPECT_EQ(l.events[2].at, at(30));
    EXPECT_EQ(l.events[2].exit_code, 0);
}

TEST(Plan, IntentWithoutAJobExpiresAfterSettling)
{
    auto const submit = poll({}, open, {}, 0).actions[0];
    auto const restarted = recover(begin({}, submit, at(0)), at(9));
    EXPECT_EQ(poll(restarted, open, {}, 13).actions[0].type, Type::wait)
        << "the dead poller's sbatch may only just have succeeded";
    auto const again = recover(restarted, at(12));
    auto const l = poll(again, open, {}, 14);
    EXPECT_EQ(l.actions[0].type, Type::submit) << "repeated polls must not restart the wait";
    EXPECT_NE(l.actions[0].intent, submit.intent);
}

TEST(Plan, ClosedWindowDrainsThenDrainsAgainThenCancels)
{
    std::vector<Job> const running{job("7", Job::State::running)};
    auto state = tracking(running);
    std::vector<Type> kinds;
    int drained = 0;
    for (int second = 1; second <= 131; ++second) {
        auto l = poll(state, closed, running, second);
        state = l.state;
        for (auto const& action : l.actions) {
            if (action.type == Type::wait) continue;
            kinds.push_back(action.type);
            state = begin(state, action, at(second));
            auto after = finish(state, action, {}, at(second), limits);
            for (auto const& h : after.events) drained += h.type == JobChange::Type::drained;
            state = after.state;
        }
    }
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), Type::drain), 40);  // every 3 s for 120 s
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), Type::cancel), 3);  // at 121, 126, 131 s
    EXPECT_EQ(drained, 1) << "repeated signals are one event";
}

TEST(Plan, ReopenedWindowWaitsForTheDrainingJobThenGetsItsOwn)
{
    std::vector<Job> const running{job("7", Job::State::running)};
    auto state = tracking(running);
    state = done(state, poll(state, closed, running, 1).actions[0], 1);
    auto const reopened = poll(state, open, running, 2);
    EXPECT_EQ(reopened.actions[0].type, Type::wait);
    auto const again = poll(state, open, running, 5);
    ASSERT_THAT(again.actions, SizeIs(1));
    EXPECT_EQ(again.actions[0].type, Type::drain)
        << "a lost signal must not block the site's next job";
    auto const gone = poll(state, open, {ended("7", 6, 0)}, 7);
    EXPECT_EQ(gone.actions[0].type, Type::submit) << "the end after a stop request is no failure";
    EXPECT_EQ(gone.state.failures, 0);
}

TEST(Plan, TheNextWindowAdoptsAJobThatNobodyAskedToStop)
{
    DesiredState const next{true, {"w2"}, "the window is open"};
    for (auto const state : {Job::State::running, Job::State::pending}) {
        std::vector<Job> const jobs{job("7", state)};
        auto const l = poll(tracking(jobs), next, jobs, 1);
        ASSERT_THAT(l.actions, SizeIs(1));
        EXPECT_EQ(l.actions[0].type, Type::wait);
    }
}

TEST(Plan, TheNextWindowDoesNotAdoptADrainingJob)
{
    DesiredState const next{true, {"w2"}, "the window is open"};
    std::vector<Job> const running{job("7", Job::State::running)};
    auto state = tracking(running);
    state = done(state, poll(state, closed, running, 1).actions[0], 1);
    EXPECT_EQ(poll(state, next, running, 5).actions[0].type, Type::drain);
    EXPECT_EQ(poll(state, next, {ended("7", 6, 0)}, 7).actions[0].type, Type::submit);
}

TEST(Plan, PendingJobOfAClosedWindowLeavesTheQueue)
{
    std::vector<Job> const pending{job("7", Job::State::pending)};
    auto state = tracking(pending);
    auto const l = poll(state, closed, pending, 1);
    EXPECT_EQ(l.actions[0].type, Type::cancel_pending);
    state = done(state, l.actions[0], 1);
    EXPECT_EQ(poll(state, closed, {job("7", Job::State::running)}, 2).actions[0].type, Type::drain)
        << "it started meanwhile";
}

TEST(Plan, OfTwoJobsTheOlderStays)
{
    auto const both_run =
        std::vector{job("7", Job::State::running), job("8", Job::State::running, "i1")};
    auto const l = poll(tracking(both_run), open, both_run, 1);
    ASSERT_THAT(l.actions, SizeIs(2));
    EXPECT_EQ(l.actions[0].type, Type::drain);
    EXPECT_EQ(l.actions[0].job.value, "8");
    auto const one_waits =
        std::vector{job("7", Job::State::pending), job("8", Job::State::running, "i1")};
    auto const m = poll(tracking(one_waits), open, one_waits, 1);
    EXPECT_EQ(m.actions[0].type, Type::cancel_pending);
    EXPECT_EQ(m.actions[0].job.value, "7");
}

TEST(Plan, JobWithoutOurIntentIsIgnored)
{
    std::vector<Job> const foreign{job("7", Job::State::running, "")};
    auto const l = poll({}, closed, foreign, 1);
    EXPECT_TRUE(l.state.jobs.empty());
    EXPECT_TRUE(l.events.empty());
    ASSERT_THAT(l.actions, SizeIs(1));
    EXPECT_EQ(l.actions[0].type, Type::wait);
    EXPECT_EQ(poll({}, open, foreign, 1).actions[0].type, Type::submit);
    EXPECT_THAT(warning_of(l.state, foreign, at(1), limits),
                HasSubstr("job 7 has the name of this site's jobs"));
    auto const ours = tracking({job("7", Job::State::running)});
    EXPECT_EQ(warning_of(ours, foreign, at(1), limits), "") << "its comment was removed";
    EXPECT_EQ(poll(ours, closed, foreign, 1).actions[0].type, Type::drain);
}

TEST(Plan, ReusedNumberWithAnotherIntentIsAnotherJob)
{
    auto const l = poll(tracking({job("7", Job::State::running, "i0")}), open,
                        {job("7", Job::State::running, "i1")}, 30);
    ASSERT_THAT(l.state.jobs, SizeIs(1));
    EXPECT_EQ(l.state.jobs[0].intent.value, "i1");
    ASSERT_THAT(l.actions, SizeIs(1));
    EXPECT_EQ(l.actions[0].type, Type::wait);
}

TEST(Plan, WarningsIgnoreEndedJobs)
{
    auto held = job("7", Job::State::pending);
    held.reason = "JobHeldUser";
    held.warning = "job 7 waits for JobHeldUser";
    auto over = ended("6", 1, 0);
    over.warning = "was strange";
    auto const l = poll(tracking({held}), open, {over, held}, 1);
    EXPECT_EQ(warning_of(l.state, {over, held}, at(1), limits), "job 7 waits for JobHeldUser");
    EXPECT_EQ(l.actions[0].why, "job 7 is pending (JobHeldUser)");
}

// Drains a job that keeps running, each time with this outcome. Returns the second and type of
// every action.
std::vector<std::pair<int, Type>> acts_while(Outcome::Status drain, int period, int until,
                                             JobLimits const& with)
{
    std::vector<Job> const running{job("7", Job::State::running)};
    auto state = tracking(running);
    std::vector<std::pair<int, Type>> acts;
    for (int second = 1; second <= until; second += period) {
        state = observe(state, running, at(second), with).state;
        for (auto const& action : decide(state, closed, running, at(second), with)) {
            if (action.type == Type::wait) continue;
            acts.emplace_back(second, action.type);
            state = begin(state, action, at(second));
            bool const drains = action.type == Type::drain;
            state = finish(state, action, {drains ? drain : Outcome::Status::done, {}, {}},
                           at(second), with)
                        .state;
        }
    }
    return acts;
}
int first_cancel(std::vector<std::pair<int, Type>> const& acts)
{
    auto const it = std::find_if(acts.begin(), acts.end(),
                                 [](auto const& act) { return act.second == Type::cancel; });
    return it == acts.end() ? 0 : it->first;
}

TEST(Plan, GraceStartsWithTheFirstDeliveredDrain)
{
    std::vector<Job> const running{job("7", Job::State::running)};
    auto state = tracking(running);
    Action const drain{Type::drain, {"7"}, {"w1"}, {}, "closed"};
    for (int second : {1, 60, 119}) {
        state = begin(state, drain, at(second));
        auto const lost =
            finish(state, drain, {Outcome::Status::unknown, {}, "timed out"}, at(second), limits);
        EXPECT_TRUE(lost.events.empty());
        state = lost.state;
    }
    EXPECT_EQ(decide(state, closed, running, at(125), limits)[0].type, Type::drain)
        << "it has received no stop request yet";
    state = begin(state, drain, at(125));
    auto const arrived = finish(state, drain, {}, at(125), limits);
    ASSERT_THAT(arrived.events, SizeIs(1));
    EXPECT_EQ(decide(arrived.state, closed, running, at(244), limits)[0].type, Type::drain);
    EXPECT_EQ(decide(arrived.state, closed, running, at(245), limits)[0].type, Type::cancel);
}

TEST(Plan, JobThatReceivesNoDrainIsCancelledMuchLater)
{
    EXPECT_EQ(first_cancel(acts_while(Outcome::Status::unknown, 1, 400, limits)), 1 + 360);
    EXPECT_EQ(first_cancel(acts_while(Outcome::Status::refused, 1, 400, limits)), 1 + 360);
    EXPECT_EQ(first_cancel(acts_while(Outcome::Status::done, 1, 400, limits)), 1 + 120);
}

TEST(Plan, PollingEachMinuteDrainsTwiceBeforeItCancels)
{
    auto short_grace = limits;
    short_grace.grace = Millis(15'000);
    auto const acts = acts_while(Outcome::Status::done, 60, 200, short_grace);
    EXPECT_THAT(acts,
                testing::ElementsAre(std::pair(1, Type::drain), std::pair(61, Type::drain),
                                     std::pair(121, Type::cancel), std::pair(181, Type::cancel)));
}

TEST(Plan, LeftoversAreEndedAndTheFailureStillCounts)
{
    auto left = job("7", Job::State::ending);
    left.leftovers = true;
    auto state = tracking({job("7", Job::State::running)});
    auto l = poll(state, open, {left}, 30);
    ASSERT_THAT(l.actions, SizeIs(1));
    EXPECT_EQ(l.actions[0].type, Type::end_leftovers);
    state = begin(l.state, l.actions[0], at(30));
    auto const swept = finish(state, l.actions[0], {}, at(30), limits);
    EXPECT_TRUE(swept.events.empty()) << "it had ended before";
    EXPECT_EQ(poll(swept.state, open, {left}, 34).actions[0].type, Type::wait);
    EXPECT_EQ(poll(swept.state, open, {left}, 35).actions[0].type, Type::end_leftovers);
    EXPECT_EQ(poll(swept.state, open, {ended("7", 29, 137)}, 36).state.failures, 1);
    EXPECT_EQ(
        poll(tracking({job("7", Job::State::running)}), open, {job("7", Job::State::ending)}, 30)
            .actions[0]
            .type,
        Type::wait)
        << "a job that is ending by itself needs no action";
}

TEST(Plan, AJobStuckInCompletingDelaysTheNextOneForAWhile)
{
    auto ending = job("7", Job::State::ending);
    ending.launcher_state = "COMPLETING";
    ending.cleaning_up = true;
    auto state = tracking({job("7", Job::State::running)});
    state = poll(state, open, {ending}, 10).state;
    auto const before = poll(state, open, {ending}, 309);
    ASSERT_THAT(before.actions, SizeIs(1));
    EXPECT_EQ(before.actions[0].type, Type::wait);
    EXPECT_EQ(warning_of(before.state, {ending}, at(309), limits), "");
    auto const after = poll(state, open, {ending}, 310);
    ASSERT_THAT(after.actions, SizeIs(2));
    EXPECT_EQ(after.actions[1].type, Type::submit);
    EXPECT_THAT(warning_of(after.state, {ending}, at(310), limits),
                HasSubstr("job 7 has been COMPLETING for more than 5m00s"));
}

TEST(Plan, ClockSetBackDelaysNothing)
{
    auto state = tracking({job("7", Job::State::running)}, 4000);
    state = done(state, {Type::drain, {"7"}, {"w1"}, {}, ""}, 4001);
    auto const drained = clamp_times(state, at(400), limits);
    EXPECT_EQ(drained.jobs[0].last_drain, at(400));
    EXPECT_EQ(poll(drained, closed, {job("7", Job::State::running)}, 404).actions[0].type,
              Type::drain);
    SiteState failed;
    failed.failures = 1;
    failed.retry_at = at(4000);
    EXPECT_EQ(clamp_times(failed, at(0), limits).retry_at, at(600));
    EXPECT_EQ(clamp_times(failed, at(3500), limits), failed);
}

// The states that a poller logs of a job which its launcher lists in these states, one per poll.
std::vector<std::string> logged(SiteState state, std::vector<std::string> const& listed)
{
    std::vector<std::string> told;
    for (auto const& name : listed) {
        bool const waits = name == "PENDING" || name == "REQUEUED";
        auto one = job("7", waits ? Job::State::pending : Job::State::running);
        one.launcher_state = name;
        auto update = observe(std::move(state), {one}, at(0), limits);
        for (auto const& change : update.states) told.push_back(change.state);
        state = std::move(update.state);
    }
    return told;
}

TEST(Plan, EachChangeOfAJobsStateIsLogged)
{
    using testing::ElementsAre;
    EXPECT_THAT(logged({}, {"PENDING", "PENDING", "RUNNING", "RUNNING"}), SizeIs(0))
        << "submission and start have events of their own";
    EXPECT_THAT(logged({}, {"RUNNING", "SUSPENDED", "SUSPENDED", "RUNNING", "STOPPED"}),
                ElementsAre("SUSPENDED", "RUNNING", "STOPPED"));
    EXPECT_THAT(logged({}, {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}),
                ElementsAre("CONFIGURING", "RUNNING", "COMPLETING"));
    EXPECT_THAT(logged({}, {"RUNNING", "REQUEUED", "PENDING", "RUNNING"}),
                ElementsAre("REQUEUED", "PENDING", "RUNNING"));
    EXPECT_THAT(logged({}, {"SUSPENDED", "RUNNING"}), ElementsAre("SUSPENDED", "RUNNING"))
        << "suspended before the first look";
    auto recovered = tracking({job("7", Job::State::running)});
    EXPECT_THAT(logged(recovered, {"RUNNING"}), ElementsAre("RUNNING"))
        << "a lost state may have been another one";
}

TEST(Plan, TheNewStartOfARequeuedJobIsLogged)
{
    auto state = tracking({job("7", Job::State::running)});
    auto waiting = job("7", Job::State::pending);
    waiting.launcher_state = "PENDING";
    state = observe(std::move(state), {waiting}, at(1), limits).state;
    auto again = job("7", Job::State::running);
    again.launcher_state = "RUNNING";
    again.started = at(2);
    auto const update = observe(std::move(state), {again}, at(3), limits);
    ASSERT_THAT(update.states, SizeIs(1));
    EXPECT_EQ(update.states[0].started, at(2));
    auto const event = runlog::to_event(update.states[0], at(3), "A");
    EXPECT_EQ(runlog::job_state_change_in(event)->started, at(2));
}

TEST(Plan, StateSurvivesStorage)
{
    auto state = tracking({job("7", Job::State::running), job("8", Job::State::pending, "i1")});
    state = begin(state, {Type::drain, {"7"}, {"w1"}, {}, ""}, at(4));
    state = begin(state, {Type::submit, {}, {"w2"}, {"i9"}, ""}, at(5));
    state.jobs[0].ending_since = at(8);
    state.failures = 2;
    state.setbacks = 3;
    state.retry_at = at(9);
    state.failure = "why";
    auto const read = read_site_state(to_json(state), "test");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, state);
    EXPECT_FALSE(read_site_state(json::Value("x"), "test"));
}

}  // namespace
}  // namespace curtail::plan
