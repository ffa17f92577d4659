// SPDX-License-Identifier: Apache-2.0
// Records that contradict each other: the bill says so, and names the files and the interval.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bill/account/checked_run.hpp"
#include "bill/account/clocks.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using energy::PowerState;
using test::at;
using test::event;
using test::small_run;
using test::state;
using test::step;
using testing::HasSubstr;

using Checks = test::CheckedRun;

TEST_F(Checks, HaveNoDoubtAboutConsistentFiles)
{
    EXPECT_THAT(titles(), testing::IsEmpty());
    EXPECT_EQ(bound(), Bound::exact);
}

TEST_F(Checks, EventsThatAreLostLeaveStepsOutsideAllJobs)
{
    files.sites[0].events.clear();
    std::erase_if(files.poller_events, [](Event const& e) { return e.site == "EAST"; });
    EXPECT_THAT(titles(), testing::Contains("Steps outside all jobs"));
    EXPECT_EQ(bound(), Bound::at_least);
    EXPECT_TRUE(
        has_note("EAST: steps of 5400.0 s in metrics.jsonl lie outside all jobs that its "
                 "events show, from 2026-03-01T00:30:00Z to 2026-03-01T02:00:00Z"));
    EXPECT_FALSE(total_of(account_).known_carbon());
}

TEST_F(Checks, StatesThatWereChangedContradictTheSteps)
{
    for (auto& e : files.sites[0].events)
        if (e.text("state") == "training") e.details.set("state", "idle");
    EXPECT_THAT(titles(), testing::Contains("States and steps differ"));
    EXPECT_EQ(bound(), Bound::at_least);
    EXPECT_TRUE(
        has_note("EAST: by events.jsonl, job 1 trained for 0.0 s, and by metrics.jsonl for "
                 "5400.0 s"));
}

TEST_F(Checks, StepsThatAreMissingContradictTheStates)
{
    files.sites[0].metrics.pop_back();
    EXPECT_THAT(titles(), testing::Contains("States and steps differ"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(Checks, TwoTrainersAtOnceAreBilledOnce)
{
    auto const twice = files.sites[0].metrics;
    files.sites[0].metrics.insert(files.sites[0].metrics.end(), twice.begin(), twice.end());
    EXPECT_THAT(titles(), testing::Contains("Two trainers at once"));
    EXPECT_TRUE(has_note("EAST: metrics.jsonl has steps of two trainers at the same time"));
    EXPECT_FALSE(bound() == Bound::exact);
}

TEST_F(Checks, AnEndThatNobodyReportedIsTheLatestPossibleOne)
{
    auto& own = files.sites[1].events;
    own.resize(3);  // WEST trains from hour 2.5 on, and is killed
    std::erase_if(files.poller_events, [](Event const& e) {
        return e.site == "WEST" && (e.type == "job-ended" || e.type == "job-failed");
    });
    files.poller_events.push_back(
        event(9, "job-ended", "WEST", {{"job", "1"}, {"latest_end", format_time(at(4))}}));
    EXPECT_THAT(titles(), testing::ElementsAre("Unknown end of a job"));
    EXPECT_TRUE(
        has_note("WEST: nobody reported the end of job 1, and its events.jsonl and metrics.jsonl "
                 "have no later line. It lies from 2026-03-01T03:00:00Z to 2026-03-01T04:00:00Z"));
    EXPECT_DOUBLE_EQ(seconds(1, PowerState::idle), 3600);
    EXPECT_EQ(bound(), Bound::at_most);
    EXPECT_TRUE(total_of(account_).known_carbon());
}

TEST_F(Checks, AnEndBeforeTheLastStepIsNoEnd)
{
    files.poller_events.push_back(
        event(9, "job-ended", "EAST", {{"job", "1"}, {"ended", format_time(at(0.25))}}));
    auto const told = titles();
    EXPECT_THAT(told, testing::IsEmpty()) << "the trainer's exit counts";
    EXPECT_THAT(account_.warnings,
                testing::Contains(HasSubstr("EAST: the launcher says that job 1 ended at "
                                            "2026-03-01T00:15:00Z")));
    EXPECT_DOUBLE_EQ(seconds(0, PowerState::training), 5400);
}

TEST_F(Checks, AJobBeginsNoEarlierThanItsSubmission)
{
    std::vector<StepMetrics> const no_steps;
    // The poller's clock was an hour behind when it noticed the start.
    auto jobs = jobs_of(
        {},
        {event(2, "job-submitted", "EAST", {{"job", "7"}}),
         event(1, "job-started", "EAST", {{"job", "7"}, {"started", format_time(at(2.001))}})},
        {"EAST"}, StepsByTime(no_steps));
    ASSERT_EQ(jobs.size(), 1U);
    EXPECT_EQ(jobs[0].begin, at(2.001));
}

TEST_F(Checks, AClockThatWasSetBackIsCorrectedByTheMonotonicOne)
{
    auto const whole = account_of(files);
    auto& east = files.sites[0];
    auto const zero = at(0) - Seconds{5000};
    auto const monotonic = [&](Time time) { return MonoTime{time - zero}; };
    for (auto& e : east.events)
        e.details.set("monotonic_s",
                      FractionalSeconds(monotonic(e.time).time_since_epoch()).count());
    for (auto& s : east.metrics) s.monotonic = monotonic(s.time);
    // From hour 1.2 on, the clock is 20 min behind.
    for (auto& e : east.events)
        if (e.time > at(1.2)) e.time -= Seconds{1200};
    for (auto& s : east.metrics)
        if (s.time > at(1.2)) s.time -= Seconds{1200};
    auto const corrected = correct_times(east);
    EXPECT_EQ(corrected.by, Seconds{1200});
    EXPECT_EQ(corrected.when.to, east.events.back().time);
    EXPECT_EQ(correct_times(files.sites[1]).by, Seconds{0}) << "it has no monotonic times";
    EXPECT_EQ(account_of(files).sites[0].bill.total, whole.sites[0].bill.total);
    EXPECT_THAT(titles(), testing::IsEmpty());
}

TEST_F(Checks, FrozenTimeIsNoTraining)
{
    files.sites[0].events.insert(
        files.sites[0].events.end() - 2,
        event(1.5, "frozen", "EAST",
              {{"from", format_time(at(1.25))}, {"to", format_time(at(1.5))}}));
    EXPECT_THAT(titles(), testing::IsEmpty());
    EXPECT_DOUBLE_EQ(seconds(0, PowerState::frozen), 900);
    EXPECT_DOUBLE_EQ(seconds(0, PowerState::training), 4500);
    for (double hour : {1.2, 1.6})
        poller(hour, "job-state", "EAST",
               {{"job", "1"}, {"state", hour < 1.5 ? "SUSPENDED" : "RUNNING"}});
    (void)titles();
    EXPECT_DOUBLE_EQ(seconds(0, PowerState::suspended), 900) << "the scheduler told why";
    EXPECT_DOUBLE_EQ(seconds(0, PowerState::frozen), 0);
}

TEST_F(Checks, TheRateIsThatOfTheStepsThatRan)
{
    auto const before = account_of(files).sites[0].rate.value().tokens_per_s;
    // One step of EAST took ten hours, in which its processes did not run.
    auto& steps = files.sites[0].metrics;
    steps.push_back(step(12.25, {900}, 36'900));
    files.sites[0].events.back().time = at(12.25);
    files.sites[0].events.insert(
        files.sites[0].events.end() - 1,
        event(12, "frozen", "EAST", {{"from", format_time(at(2))}, {"to", format_time(at(12))}}));
    EXPECT_DOUBLE_EQ(account_of(files).sites[0].rate.value().tokens_per_s, before);
}

TEST_F(Checks, AStepThatTakesMuchLongerThanTheOthersHasStalled)
{
    std::vector<StepMetrics> const rows{step(1.01, {1}, 36), step(1.02, {1}, 36),
                                        step(3, {1}, 7'128)};
    StepsByTime const steps(rows);
    std::vector<Event> const own{state(1, "EAST", "training"),
                                 event(3, "trainer-exit", "EAST", {{"code", 0}})};
    auto const jobs = jobs_of(own, {}, {"EAST"}, steps);
    auto const states = states_of(jobs.at(0), steps, at(9));
    double stalled = 0;
    for (auto const& s : states)
        if (s.state == PowerState::stalled) stalled += s.when.length().count();
    EXPECT_DOUBLE_EQ(stalled, 7'128 - 36);
}

// The poller of EAST decides twice, and numbers its lines.
class PollerLines : public test::CheckedRun {
  protected:
    PollerLines()
    {
        std::int64_t number = 0;
        for (auto& e : files.poller_events) {
            e.details.set("number", ++number);
            if (e.type == "window-open" || e.type == "window-close")
                e.details.set("signal_time", format_time(e.time));
        }
        for (auto& site : files.run.sites) site.window.close_delay = Millis{0};
        for (auto const& [hours, from, to, intensity] : {std::tuple{0.0, "closed", "open", 50},
                                                         {2.0, "open", "closing", 150},
                                                         {2.0, "closing", "closed", 150}})
            decide("EAST", hours, from, to, intensity, ++number);
        for (auto const& [hours, from, to, intensity] : {std::tuple{1.0, "closed", "open", 40},
                                                         {3.0, "open", "closing", 120},
                                                         {3.0, "closing", "closed", 120}})
            decide("WEST", hours, from, to, intensity, ++number);
        std::ranges::stable_sort(files.poller_events, {}, &Event::time);
        std::int64_t next = 0;
        for (auto& e : files.poller_events) e.details.set("number", ++next);
    }
    void decide(char const* site, double hours, char const* from, char const* to, int intensity,
                std::int64_t number)
    {
        files.poller_events.push_back(event(hours, "decision", site,
                                            {{"signal_time", format_time(at(hours))},
                                             {"from", from},
                                             {"to", to},
                                             {"reason", "clean"},
                                             {"intensity_gco2_per_kwh", intensity},
                                             {"number", number}}));
    }
    void drop(char const* type)
    {
        std::erase_if(files.poller_events,
                      [&](Event const& e) { return e.site == "EAST" && e.type == type; });
    }
};

TEST_F(PollerLines, ThatAgreeRaiseNoDoubt) { EXPECT_THAT(titles(), testing::IsEmpty()); }

TEST_F(PollerLines, OfWindowsWithoutDecisionsHaveANote)
{
    for (auto& e : files.poller_events)
        if (e.site == "EAST" && e.type == "window-open")
            e.details.set("signal_time", format_time(at(0.5)));
    EXPECT_THAT(titles(), testing::ElementsAre("Windows and decisions differ"));
    EXPECT_TRUE(has_note(
        "EAST poller events.jsonl: 2 lines, from 2026-03-01T00:00:00Z to 2026-03-01T00:30:00Z"));
}

// Without the lines of a window, nothing would say when it was open.
TEST_F(PollerLines, OfJobsWithoutTheirWindowHaveANote)
{
    auto const window = [](char const* name) -> json::Object {
        return {{"window", name}, {"job", "7"}};
    };
    poller(0.5, "job-submitted", "EAST", window("e"));
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Windows and decisions differ")));
    poller(0.6, "job-submitted", "EAST", window("f"));
    EXPECT_THAT(titles(), testing::Contains("Windows and decisions differ"));
    EXPECT_TRUE(has_note("submit a job for a window that no event window-open names"));
}

TEST_F(PollerLines, ThatAreMissingLeaveAGapInTheNumbers)
{
    drop("window-open");
    drop("decision");
    EXPECT_THAT(titles(), testing::Contains("Event numbers are missing"));
    EXPECT_TRUE(has_note("numbers are missing in "));
    files.sites[0].publication.is_remote = true;
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Event numbers are missing")));
}

TEST_F(Checks, ASmallDoubtLeavesTheFigureWhole)
{
    auto& own = files.sites[1].events;
    own.resize(3);
    std::erase_if(files.poller_events, [](Event const& e) {
        return e.site == "WEST" && (e.type == "job-ended" || e.type == "job-failed");
    });
    files.poller_events.push_back(
        event(9, "job-ended", "WEST", {{"job", "1"}, {"latest_end", format_time(at(3.001))}}));
    EXPECT_THAT(titles(), testing::ElementsAre("Unknown end of a job"));
    EXPECT_EQ(bound(), Bound::exact);
}

TEST_F(Checks, PowerThatProbablyIsInWattsIsHintedAt)
{
    auto& site = files.run.sites[0];
    for (auto const& [watts_per_rank, hints] : {std::pair{100'000, 0}, std::pair{100'001, 1}}) {
        site.power->training = Watts{static_cast<double>(watts_per_rank * site.ranks)};
        EXPECT_EQ(std::ranges::count(account_of(files).notes, "Check the unit",
                                     [](auto const& note) { return note.first; }),
                  hints);
    }
}

}  // namespace
}  // namespace curtail::account
