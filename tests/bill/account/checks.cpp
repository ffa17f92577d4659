// SPDX-License-Identifier: Apache-2.0
// Records that contradict each other: the bill says so, and names the files and the interval.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bill/account/account_of.hpp"
#include "bill/account/audit.hpp"
#include "bill/account/clocks.hpp"
#include "bill/account/figures.hpp"
#include "run/runlog/configuration.hpp"
#include "small_run.hpp"

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

class Checks : public testing::Test {
  protected:
    // The doubts about the run: their titles, in order.
    std::vector<std::string> titles()
    {
        account_ = account_of(files);
        std::vector<std::string> titles;
        for (auto const& doubt : account_.doubts) titles.push_back(doubt.title);
        return titles;
    }
    [[nodiscard]] Bound bound() const { return total_of(account_).bound; }
    [[nodiscard]] bool has_note(std::string const& text) const
    {
        return std::ranges::any_of(account_.notes, [&](auto const& note) {
            return note.second.find(text) != std::string::npos;
        });
    }
    // Seconds that the site was in a state.
    double seconds(std::size_t site, PowerState state) const
    {
        return seconds_in(account_.sites[site], energy::name(state));
    }

    RunFiles files{small_run()};
    Account account_;
};

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
        has_note("WEST: nobody reported the end of job 1. It lies from "
                 "2026-03-01T03:00:00Z to 2026-03-01T04:00:00Z"));
    EXPECT_DOUBLE_EQ(seconds(1, PowerState::idle), 3600);
    EXPECT_EQ(bound(), Bound::at_most);
    EXPECT_TRUE(total_of(account_).known_carbon());
}

class SettingsInForceTest : public Checks {
  protected:
    // Logs EAST's site file, with these powers, at hour `hour`.
    void log(double hour, double idle_w, double training_w, char const* site = "EAST")
    {
        auto const& east = files.run.sites[0];
        runlog::Configuration const then{
            {{"run.json", R"({"training": {"batch_tokens": 900}})"},
             {"model.json", "{}"},
             {"east.json",
              fmt::format(
                  R"({{"site": "{}", "region": "E", "launcher": {{}}, "signal_max_age_s": {},
                  "power": {{"idle_kw": {}, "training_kw": {}, "pue": {},
                             "between_jobs": "released"}},
                  "window": {{"open_below_gco2_per_kwh": {}, "close_above_gco2_per_kwh": {}}}}})",
                  site, FractionalSeconds(east.signal_max_age).count(), idle_w / 1000,
                  training_w / 1000, east.power->pue, east.window.open_below.value,
                  east.window.close_above.value)}}};
        files.poller_events.insert(files.poller_events.begin(),
                                   runlog::to_event(then, at(hour), "EAST"));
    }
    [[nodiscard]] double kwh() { return account_.sites[0].bill.total.energy.value / 1000; }
};

TEST_F(SettingsInForceTest, ThatArePresentHaveNoNote)
{
    log(0.1, 400, 2000);
    EXPECT_THAT(titles(), testing::IsEmpty()) << "the same settings, perhaps in another text";
}

TEST_F(SettingsInForceTest, AreThoseOfTheBillAndTheFileIsShownAsADifference)
{
    (void)titles();
    auto const before = kwh();
    log(0.1, 400, 2000);
    files.run.sites[0].power->training = Watts{9000};
    files.run.sites[0].signal_max_age = Seconds{1};
    EXPECT_THAT(titles(), testing::ElementsAre("Settings differ"));
    EXPECT_TRUE(
        has_note("EAST: power, signal_max_age_s of the present site file differ from "
                 "east.json, which was in force from 2026-03-01T00:06:00Z on"));
    EXPECT_EQ(bound(), Bound::exact);
    EXPECT_DOUBLE_EQ(kwh(), before);
    files.uses_present_settings = true;
    EXPECT_THAT(titles(), testing::IsEmpty());
    EXPECT_GT(kwh(), 2 * before);
}

// EAST trains from 0:30 to 2:00.
TEST_F(SettingsInForceTest, ChangeAtTheirTime)
{
    (void)titles();
    auto const before = kwh();
    log(0.1, 400, 2000);
    log(1, 400, 3000);
    files.run.sites[0].power->training = Watts{3000};
    EXPECT_THAT(titles(), testing::ElementsAre("Settings have changed"));
    EXPECT_TRUE(has_note("EAST: power changed at 2026-03-01T01:00:00Z"));
    EXPECT_DOUBLE_EQ(kwh(), before + 1);
    auto const& always_on = account_.always_on.at(0);
    EXPECT_EQ(always_on.as_site, "EAST");
    auto const hours = *always_on.wall_s / 3600;
    EXPECT_DOUBLE_EQ(always_on.tally.energy.value, 2000 + 3000 * (hours - 1));
}

// Nothing else of the run file changes a bill without a mark either.
TEST_F(SettingsInForceTest, OfTheRunFileAreShownAsADifference)
{
    log(0.1, 400, 2000);
    EXPECT_THAT(titles(), testing::IsEmpty());
    files.run.training.step_at_least = FractionalSeconds{5000};
    EXPECT_THAT(titles(), testing::ElementsAre("Settings differ"));
    EXPECT_TRUE(has_note("EAST: training.step_at_least_s of the present run file differ"));
    files.run.training.step_at_least = FractionalSeconds{0};
    files.run.reference_site = {"WEST"};
    EXPECT_THAT(titles(), testing::ElementsAre("Settings differ"));
}

TEST_F(SettingsInForceTest, OfAnotherSiteAreRefused)
{
    log(0.1, 400, 2000);
    log(0.2, 4, 20, "WEST");
    EXPECT_THAT(titles(), testing::ElementsAre("Unusable settings"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

// EAST's steps have 1 kW by its meters; the model has 2 kW. It trains for 1.5 h.
class Meters : public Checks {
  protected:
    Meters()
    {
        for (auto& step : files.sites[0].metrics) step.metered_j = 1000 * step.duration.count();
    }
    double kwh()
    {
        account_ = account_of(files);
        return account_.sites[0].bill.total.energy.value / 1000;
    }
    std::string line()
    {
        for (auto const& line : audit_of(account_of(files)))
            if (line.key == "meters") return line.text;
        return "";
    }
};

TEST_F(Meters, StandBesideTheModel)
{
    auto const metered = kwh();
    for (auto& step : files.sites[0].metrics) step.metered_j.reset();
    EXPECT_DOUBLE_EQ(metered, kwh());
    EXPECT_EQ(line(), "");
    for (auto& step : files.sites[0].metrics) step.metered_j = 1000 * step.duration.count();
    EXPECT_THAT(line(), HasSubstr("EAST: 1.25 kWh in 4500 s of training, 1.00 kW on average (the "
                                  "model has 2.00 kW); too few steps are metered"));
    // The first step of a trainer does not count: its metered energy begins at an unknown time.
    files.sites[0].metrics.insert(files.sites[0].metrics.begin(), step(0.5, {0}, 0));
    EXPECT_THAT(line(), HasSubstr("1.50 kWh in 5400 s of training, 1.00 kW on average (the model "
                                  "has 2.00 kW); the bill does not use it"));
    EXPECT_DOUBLE_EQ(metered, kwh());
}

TEST_F(Meters, ReplaceTheModelIfTheSiteFileSaysWhatTheyCover)
{
    files.sites[0].metrics.insert(files.sites[0].metrics.begin(), step(0.5, {0}, 0));
    auto const modelled = kwh();
    files.run.sites[0].meter = config::Meter{true, {}};
    EXPECT_DOUBLE_EQ(kwh(), modelled - 1.5);
    EXPECT_THAT(titles(), testing::IsEmpty());
    EXPECT_THAT(line(), HasSubstr("the bill uses it, it covers the node"));
    files.run.sites[0].meter = config::Meter{false, Watts{300}};
    EXPECT_DOUBLE_EQ(kwh(), modelled - 1.5 + 0.45);
    files.run.sites[0].power->pue = 2;
    EXPECT_DOUBLE_EQ(kwh(), 2 * (modelled - 1.5 + 0.45));
}

TEST_F(Meters, OfAReplayAreThoseOfOtherHardware)
{
    files.sites[0].metrics.insert(files.sites[0].metrics.begin(), step(0.5, {0}, 0));
    files.clock = TimeScale{at(0), at(0), 2};
    auto const modelled = kwh();
    files.run.sites[0].meter = config::Meter{true, {}};
    EXPECT_DOUBLE_EQ(kwh(), modelled);
    EXPECT_EQ(line(), "");
}

TEST_F(Checks, AJobThatOnlySlurmKnowsIsMissingInTheBill)
{
    auto const job = [](char const* id, double from, double to) {
        return json::Object{{"job", id},
                            {"state", "COMPLETED"},
                            {"started", format_time(at(from))},
                            {"ended", format_time(at(to))}};
    };
    files.poller_events.push_back(
        event(8, "accounting", "EAST", {{"jobs", json::Array{job("1", 0, 2.5)}}}));
    EXPECT_THAT(titles(), testing::IsEmpty());
    files.poller_events.push_back(
        event(9, "accounting", "EAST",
              {{"jobs", json::Array{job("1", 0, 2.5), job("1", 5, 6), job("2", 4, 4)}}}));
    EXPECT_THAT(titles(), testing::ElementsAre("A job without a bill"));
    EXPECT_TRUE(
        has_note("EAST: Slurm's accounting knows job 1, from 2026-03-01T05:00:00Z to "
                 "2026-03-01T06:00:00Z"));
    EXPECT_EQ(bound(), Bound::at_least);
    EXPECT_EQ(account_.sites[0].accounting, "3 jobs, asked at 2026-03-01T09:00:00Z");
    EXPECT_EQ(account_.sites[1].accounting, "");
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
    EXPECT_EQ(correct_times(east), Seconds{1200});
    EXPECT_EQ(correct_times(files.sites[1]), Seconds{0}) << "it has no monotonic times";
    EXPECT_EQ(account_of(files).sites[0].bill.total, whole.sites[0].bill.total);
    EXPECT_THAT(titles(), testing::IsEmpty());
}

TEST_F(Checks, FrozenTimeIsNoTraining)
{
    files.sites[0].events.insert(
        files.sites[0].events.end() - 1,
        event(1.5, "frozen", "EAST",
              {{"from", format_time(at(1.25))}, {"to", format_time(at(1.5))}}));
    EXPECT_THAT(titles(), testing::IsEmpty());
    EXPECT_DOUBLE_EQ(seconds(0, PowerState::frozen), 900);
    EXPECT_DOUBLE_EQ(seconds(0, PowerState::training), 4500);
    for (double hour : {1.2, 1.6})
        files.poller_events.push_back(
            event(hour, "job-state", "EAST",
                  {{"job", "1"}, {"state", hour < 1.5 ? "SUSPENDED" : "RUNNING"}}));
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

}  // namespace
}  // namespace curtail::account
