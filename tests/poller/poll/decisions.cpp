// SPDX-License-Identifier: Apache-2.0
// The pure parts of a poll: window evaluation and job decisions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "poller/poll/job_decisions.hpp"
#include "poller/poll/window_evaluation.hpp"

namespace curtail::poll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SiteId const site{"A"};
Time at(int seconds) { return from_unix_ms(1'768'151'100'000) + Seconds(seconds); }

samples::Sample sample(int second, std::optional<double> grams)
{
    std::optional<GramsPerKwh> intensity;
    if (grams) intensity = GramsPerKwh{*grams};
    return {{at(second), intensity}, "trace", samples::SignalType::marginal, {}};
}

WindowEvaluation evaluate(WindowRecord const& before, std::vector<samples::Sample> const& samples,
                          int from, int until)
{
    return evaluate_window({site, before, samples, {}, at(from), at(until), at(9999)});
}

TEST(EndOfTrainer, TermIsACancelEvenIfTheTrainerFailed)
{
    plan::TrackedJob tracked;
    tracked.id = {"7"};
    for (int const code : {0, 69}) {
        auto const job = end_of_trainer(tracked, {at(0), at(60), code, "terminate"});
        ASSERT_TRUE(job);
        EXPECT_EQ(job->end, plan::Job::End::cancelled) << code;
    }
    EXPECT_EQ(end_of_trainer(tracked, {at(0), at(60), 69, ""})->end, plan::Job::End::failed);
}

TEST(ObserveJobs, TheFailureThatHoldsASiteAnnouncesNoNextTry)
{
    plan::SiteState state;
    plan::TrackedJob tracked;
    tracked.id = {"7"};
    state.jobs = {tracked};
    plan::Job failed;
    failed.id = tracked.id;
    failed.state = plan::Job::State::ended;
    failed.launcher_state = "FAILED";
    plan::JobLimits const limits;
    for (int const failures : {limits.failures_before_hold - 2, limits.failures_before_hold - 1}) {
        state.failures = failures;
        auto const observation = observe_jobs(site, state, {failed}, at(60), limits);
        bool const is_last = failures + 1 == limits.failures_before_hold;
        EXPECT_EQ(observation.hold.has_value(), is_last);
        ASSERT_EQ(observation.warnings.size(), 1U);
        EXPECT_EQ(observation.warnings[0].find("next try") == std::string::npos, is_last)
            << observation.warnings[0];
    }
}

TEST(CheckClock, LiveWindowContinuesFromNow)
{
    WindowRecord const ahead{{windows::Phase::closing, at(3500)}, at(3600), WindowId{"w"}};
    auto const checked = check_clock(ahead, at(60), false);
    ASSERT_TRUE(checked.error);
    EXPECT_EQ(checked.error->code, ExitCode::temporary);
    EXPECT_EQ(checked.record,
              (WindowRecord{{windows::Phase::closing, at(60)}, at(60), WindowId{"w"}}));
}

TEST(CheckClock, ReplayWaits)
{
    WindowRecord const ahead{{}, at(3600), {}};
    auto const checked = check_clock(ahead, at(60), true);
    EXPECT_TRUE(checked.error);
    EXPECT_EQ(checked.record, ahead);
}

TEST(CheckClock, LiveWindowForgetsThatTheFutureWasAboveTheThreshold)
{
    WindowRecord ahead{{}, at(3600), WindowId{"w"}};
    ahead.last_above = at(3500);
    ahead.above_before_open = at(3400);
    auto const checked = check_clock(ahead, at(60), false).record;
    EXPECT_EQ(checked.last_above, at(60));
    EXPECT_EQ(checked.above_before_open, at(60));
}

TEST(CheckClock, AcceptsASmallDifference)
{
    WindowRecord const ahead{{}, at(65), {}};
    auto const checked = check_clock(ahead, at(60), false);
    EXPECT_FALSE(checked.error);
    EXPECT_EQ(checked.record, ahead);
    EXPECT_TRUE(check_clock({{}, at(66), {}}, at(60), false).error);
}

TEST(EvaluateWindow, OpeningAndClosingHaveEventsAndALogLineEach)
{
    auto const opened = evaluate({}, {sample(0, 500), sample(300, 50)}, 0, 400);
    EXPECT_EQ(opened.after, (WindowRecord{{windows::Phase::open, {}},
                                          at(400),
                                          WindowId{format_time(at(300))},
                                          at(300),
                                          at(300)}));
    std::vector<std::string> types;
    for (auto const& event : opened.events) types.push_back(event.type);
    EXPECT_THAT(types, ElementsAre("decision", "window-open"));
    EXPECT_THAT(opened.log, ElementsAre("A: closed -> open at " + format_time(at(300)) +
                                        ": 50 g/kWh is below 100: window opens"));
    EXPECT_TRUE(opened.phase_changed());
    auto const closed =
        evaluate(opened.after, {sample(300, 50), sample(600, 500), sample(1200, 500)}, 400, 1300);
    EXPECT_FALSE(closed.after.open);
    EXPECT_THAT(closed.log, testing::SizeIs(2));
    EXPECT_EQ(closed.events.back().type, "window-close");
    EXPECT_EQ(closed.events.back().text("window"), format_time(at(300)));
}

TEST(EvaluateWindow, StatusDescribesTheNewestSampleUpToNow)
{
    auto const later = evaluate({}, {sample(0, 500), sample(300, 50)}, 0, 200).status;
    EXPECT_EQ(later.sample_time, at(0));
    EXPECT_EQ(later.intensity, GramsPerKwh{500});
    EXPECT_FALSE(later.sample_is_empty);
    auto const empty = evaluate({}, {sample(0, 500), sample(100, {})}, 0, 200).status;
    EXPECT_EQ(empty.sample_time, at(100));
    EXPECT_TRUE(empty.sample_is_empty);
    EXPECT_FALSE(evaluate({}, {}, 0, 200).status.sample_time);
}

TEST(EvaluateWindow, ASignalThatIsSlowerThanItsMaxAgeGetsOneWarning)
{
    auto const hourly = [](Seconds period) {
        auto one = sample(0, 50);
        one.period = period;
        return one;
    };
    auto const first = evaluate({}, {hourly(Seconds{3600})}, 0, 60);
    EXPECT_THAT(first.warning, testing::HasSubstr("set signal_max_age_s to 3600 or more"));
    EXPECT_EQ(evaluate(first.after, {hourly(Seconds{3600})}, 60, 120).warning, "");
    EXPECT_EQ(evaluate({}, {hourly(Seconds{300})}, 0, 60).warning, "");
    EXPECT_EQ(evaluate({}, {sample(0, 50)}, 0, 60).warning, "") << "its period is unknown";
    json::Value const stored(to_json(SiteRecord{first.after, {}, {}, {}, {}, false, {}}));
    json::ObjectReader r(stored, "state.json");
    EXPECT_EQ(read_site_record(r, "state.json").window, first.after) << "also in the next process";
}

TEST(DesiredState, EveryReasonToStopPrecedesAnOpenWindow)
{
    WindowRecord const open{{windows::Phase::open, {}}, at(0), WindowId{"w1"}};
    EXPECT_TRUE(desired_state(open, StopReason::none, "", false).job);
    EXPECT_EQ(desired_state(open, StopReason::none, "", false).window.value, "w1");
    EXPECT_FALSE(desired_state({}, StopReason::none, "", false).job);
    EXPECT_FALSE(desired_state(open, StopReason::none, "", true).job);
    EXPECT_FALSE(desired_state(open, StopReason::none, "paused", false).job);
    EXPECT_FALSE(desired_state(open, StopReason::trace_over, "", false).job);
    EXPECT_FALSE(desired_state(open, StopReason::user_request, "", false).job);
}

TEST(OtherTrainer, ATrainerIsOfSomebodyElseIfThePollerDoesNotKnowItsJob)
{
    runlog::TrainerStatus const status{at(100), "7"};
    plan::SiteState known;
    EXPECT_TRUE(is_other_trainer(status, known, {}, at(101)));
    EXPECT_TRUE(is_other_trainer({at(100), ""}, known, {}, at(101))) << "started without a job";
    plan::Job listed;
    listed.id = {"7"};
    EXPECT_FALSE(is_other_trainer(status, known, {listed}, at(101))) << "listed";
    known.jobs.emplace_back().id = {"7"};
    EXPECT_FALSE(is_other_trainer(status, known, {}, at(101))) << "tracked";
}

TEST(OtherTrainer, AnOldStatusIsNoSignOfAnActiveTrainer)
{
    for (auto const& [now, is_active] :
         {std::pair(89, false), {90, true}, {100, true}, {110, true}, {111, false}})
        EXPECT_EQ(is_other_trainer({at(100), "7"}, {}, {}, at(now)), is_active) << now;
}

TEST(OutcomeOf, OnlyAMissingAnswerIsUnknown)
{
    using Status = plan::Outcome::Status;
    EXPECT_EQ(outcome_of({}, {"7"}).status, Status::done);
    EXPECT_EQ(outcome_of({}, {"7"}).job.value, "7");
    Result<void> const no_answer = fail(ExitCode::temporary, "cannot submit", "timed out");
    EXPECT_EQ(outcome_of(no_answer, {}).status, Status::unknown);
    Result<void> const refused = fail(ExitCode::unavailable, "cannot submit", "no partition");
    EXPECT_EQ(outcome_of(refused, {}).status, Status::refused);
    EXPECT_THAT(outcome_of(refused, {}).why, HasSubstr("no partition"));
}

}  // namespace
}  // namespace curtail::poll
