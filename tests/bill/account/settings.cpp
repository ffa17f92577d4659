// SPDX-License-Identifier: Apache-2.0
// The bill and always-on have the settings that were in force.
#include <fmt/format.h>

#include "bill/account/checked_run.hpp"
#include "bill/account/shown.hpp"
#include "run/runlog/configuration.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using test::at;

class SettingsInForceTest : public test::CheckedRun {
  protected:
    // Logs a run file and the text of EAST's site file at hour `hour`.
    void log_text(double hour, std::string const& site_file,
                  std::string const& run_file = R"({"training": {"batch_tokens": 900}})")
    {
        runlog::Configuration const then{
            {{"run.json", run_file}, {"model.json", "{}"}, {"east.json", site_file}}};
        auto const logged = runlog::to_event(then, at(hour), "EAST");
        poller(hour, logged.type.c_str(), "EAST", logged.details);
    }
    // Logs EAST's site file, with these powers, at hour `hour`.
    void log(double hour, double idle_w, double training_w, char const* site = "EAST",
             std::string const& run_file = R"({"training": {"batch_tokens": 900}})")
    {
        auto const& east = files.run.sites[0];
        log_text(
            hour,
            fmt::format(
                R"({{"site": "{}", "region": "{}", "launcher": {{}}, "signal_max_age_s": {},
                  "power": {{"idle_kw": {}, "training_kw": {}, "pue": {},
                             "between_jobs": "{}"}},
                  "window": {{"open_below_gco2_per_kwh": {}, "close_above_gco2_per_kwh": {}}}}})",
                site, east.region.value, FractionalSeconds(east.signal_max_age).count(),
                idle_w / 1000, training_w / 1000, east.power->pue, energy::name(east.between_jobs),
                east.window.open_below.value, east.window.close_above.value),
            run_file);
    }
    // Lets a trainer of EAST log what the poller has logged last, at hour `hour`.
    void move_to_trainer(double hour)
    {
        auto& events = files.poller_events;
        auto last = std::prev(events.end());
        while (last->type != "configuration") --last;
        auto moved = *last;
        events.erase(last);
        moved.time = at(hour);
        auto& own = files.sites[0].events;
        own.insert(std::ranges::upper_bound(own, moved.time, {}, &Event::time), moved);
    }
    // Whether the report says this about the run, in its tables or on its page.
    testing::AssertionResult says(std::string const& sentence)
    {
        (void)titles();
        auto const text = test::summary_text(account_) + test::page_text(account_);
        if (text.find(sentence) != std::string::npos)
            return testing::AssertionSuccess() << "it says: " << sentence;
        return testing::AssertionFailure() << test::summary_text(account_);
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

TEST_F(SettingsInForceTest, AreThoseOfATrainerBeforeThePollersBegin)
{
    (void)titles();
    auto const before = kwh();
    log(0.1, 400, 3000);
    move_to_trainer(0.1);
    log(1, 400, 2000);
    EXPECT_THAT(titles(), testing::ElementsAre("Settings have changed"));
    EXPECT_NEAR(kwh(), before + 0.5, 1e-9) << "from 0:30 to 1:00";
}

TEST_F(SettingsInForceTest, ThatATrainerReadOtherwiseMakeTheBillUncertain)
{
    log(0.2, 400, 9000);
    move_to_trainer(0.2);
    log(0.1, 400, 2000);
    EXPECT_THAT(titles(), testing::ElementsAre("Settings of poller and trainer differ"));
    EXPECT_TRUE(
        has_note("EAST: power of east.json, as a trainer read it and logged in events.jsonl at "
                 "2026-03-01T00:12:00Z, differ from those that the poller logged"));
    EXPECT_EQ(bound(), Bound::uncertain);
    // The trainer read its file before the change that the poller logged.
    files.poller_events.erase(std::ranges::find_if(
        files.poller_events, [](Event const& e) { return e.type == "configuration"; }));
    log(0.01, 400, 9000);
    log(0.19, 400, 2000);
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Settings of poller and trainer differ")));
    log(0.25, 400, 9000);  // the poller sees the change at its next poll
    EXPECT_THAT(titles(), testing::Not(testing::Contains("Settings of poller and trainer differ")));
}

// Without a poll, a trainer would soon have no permission.
TEST_F(SettingsInForceTest, ThatThePollerReadsHoursLaterDoNotExplainThoseOfATrainer)
{
    log(0.5, 400, 9000);
    move_to_trainer(0.5);
    log(0.1, 400, 2000);
    log(2.5, 400, 9000);
    EXPECT_THAT(titles(), testing::Contains("Settings of poller and trainer differ"));
}

TEST_F(SettingsInForceTest, OfThePaceThatATrainerReadOtherwiseMakeTheBillUncertain)
{
    char const* const run_file = R"({"training": {"batch_tokens": 900}})";
    log(0.2, 400, 2000, "EAST", R"({"training": {"batch_tokens": 9000}})");
    move_to_trainer(0.2);
    log(0.01, 400, 2000, "EAST", run_file);
    EXPECT_THAT(titles(), testing::Contains("Settings of poller and trainer differ"));
    EXPECT_TRUE(has_note("training.batch_tokens of "));
    EXPECT_EQ(bound(), Bound::uncertain);
}

TEST_F(SettingsInForceTest, OfTheLauncherAndTheOrderOfSitesAreCompared)
{
    files.run.files = {{"run.json", R"({"sites": ["west.json", "east.json"]})", {}}};
    log(0.1, 400, 2000, "EAST",
        R"({"training": {"batch_tokens": 900}, "sites": ["east.json", "west.json"]})");
    files.run.sites[0].launch.time_limit = "01:00:00";
    files.run.sites[0].launch.grace = Millis{1000};
    EXPECT_THAT(titles(), testing::ElementsAre("Settings differ", "Settings differ"));
    EXPECT_TRUE(has_note("EAST: launcher.time_limit, launcher.grace_s of the present site file"));
    EXPECT_TRUE(has_note("EAST: sites of the present run file differ"));
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
TEST_F(SettingsInForceTest, OfTheRunFileCountForAlwaysOnAndThePresentOnesAreShownAsADifference)
{
    log(0.1, 400, 2000);
    EXPECT_THAT(titles(), testing::IsEmpty());
    auto const before = account_;
    files.run.training.step_at_least = FractionalSeconds{5000};
    files.run.training.batch_tokens = {90'000};
    files.run.reference_site = {"WEST"};
    EXPECT_THAT(titles(), testing::ElementsAre("Settings differ"));
    EXPECT_TRUE(
        has_note("EAST: training.batch_tokens, training.step_at_least_s, reference_site of "
                 "the present run file differ"));
    ASSERT_EQ(account_.always_on.size(), before.always_on.size());
    for (std::size_t i : {0U, 2U}) {  // WEST has no log
        EXPECT_EQ(account_.always_on[i].as_site, before.always_on[i].as_site);
        EXPECT_EQ(account_.always_on[i].tally, before.always_on[i].tally);
        EXPECT_EQ(account_.always_on[i].step, before.always_on[i].step);
    }
    EXPECT_EQ(account_.loss->tokens_per_step, Tokens{900});
    EXPECT_EQ(account_.rounds.back().last_step, before.rounds.back().last_step);
    files.uses_present_settings = true;
    EXPECT_EQ(account_of(files).always_on.back().as_site, "WEST");
}

std::string paced(double least)
{
    return fmt::format(R"({{"training": {{"batch_tokens": 900, "step_at_least_s": {}}}}})", least);
}

// EAST's job begins at 0:00. It has lone steps of 900 s that end at 0:45 and at 1:00.
TEST_F(SettingsInForceTest, OfThePaceDoNotChangeForATrainerThatRuns)
{
    log(0.1, 400, 2000, "EAST", paced(900));
    log(0.72, 400, 2000, "EAST", paced(1800));
    files.run.training.step_at_least = FractionalSeconds{1800};
    EXPECT_THAT(titles(), testing::IsEmpty());
    EXPECT_DOUBLE_EQ(account_.sites[0].rate.value().tokens_per_s, 1);
}

// The poller notices a change of the run file after the job has begun.
TEST_F(SettingsInForceTest, OfThePaceMayBeThoseLoggedBeforeTheFirstStep)
{
    log(-0.1, 400, 2000, "EAST", paced(1800));
    log(0.1, 400, 2000, "EAST", paced(900));
    files.run.training.step_at_least = FractionalSeconds{900};
    EXPECT_THAT(titles(), testing::IsEmpty());
    EXPECT_DOUBLE_EQ(account_.sites[0].rate.value().tokens_per_s, 1);
}

TEST_F(SettingsInForceTest, OfAPaceThatStepsContradictAreADoubt)
{
    log(0.1, 400, 2000, "EAST", paced(1800));
    files.run.training.step_at_least = FractionalSeconds{1800};
    EXPECT_THAT(titles(), testing::ElementsAre("Steps are too fast"));
    EXPECT_TRUE(has_note(
        "EAST: 2 of 4 steps in metrics.jsonl took less time than training.step_at_least_s, which "
        "was logged before, from 2026-03-01T00:30:00Z to 2026-03-01T01:00:00Z"));
    EXPECT_EQ(bound(), Bound::uncertain);
    EXPECT_DOUBLE_EQ(account_.sites[0].rate.value().tokens_per_s, 1);
}

// Two thresholds: the share of energy is that below the one in force.
TEST_F(SettingsInForceTest, OfTheThresholdAreNamedWithTheShare)
{
    log(0.1, 400, 2000);
    EXPECT_TRUE(says("<100 g/kWh %"));
    EXPECT_TRUE(says("marginal intensity below 100 g/kWh"));
    files.run.sites[0].window.open_below = files.run.sites[0].window.close_above = {400};
    log(1, 400, 2000);
    EXPECT_TRUE(says("below threshold %"));
    EXPECT_TRUE(
        says("threshold in force, g/kWh: EAST at first 100, from "
             "2026-03-01T01:00:00Z on 400; WEST 100"));
    EXPECT_TRUE(says("marginal intensity below the threshold in force (100 or 400 g/kWh)"));
    EXPECT_TRUE(says("Energy below the threshold in force<"));
    EXPECT_TRUE(says("as energy, below the threshold in force"));
    EXPECT_TRUE(
        says("at first 100, from 2026-03-01T01:00:00Z on 400 (EAST), "
             "100 (WEST) g/kWh"));
    for (auto const* claim : {"&lt;100 g/kWh", "<100 g/kWh", "below 100 g/kWh", "below 400 g/kWh",
                              "as energy, &lt; 100", "as energy, &lt; 400"})
        EXPECT_FALSE(says(claim));
}

// EAST trains from 0:30 to 2:00, and its job ends at 2:30. The run ends at 3:00.
TEST_F(SettingsInForceTest, OfThePowerAreAllStated)
{
    files.run.sites[0].between_jobs = energy::BetweenJobs::idle;
    log(0.1, 400, 2000);
    files.run.sites[0].between_jobs = energy::BetweenJobs::released;
    log(2.6, 400, 40'000);
    EXPECT_TRUE(
        says("at first: source not stated; 0.4 kW idle, 2 kW training, PUE 1; "
             "modelled, not metered; nodes idle between jobs. From "
             "2026-03-01T02:36:00Z on: source not stated; 0.4 kW idle, 40 kW training"));
    EXPECT_TRUE(
        says("nodes between jobs: EAST at first idle, from "
             "2026-03-01T02:36:00Z on released, WEST released"));
}

TEST_F(SettingsInForceTest, OfUnknownPowerDoNotHideTheOnesBefore)
{
    log(0.1, 400, 2000);
    log_text(2.6, R"({"site": "EAST", "region": "E", "launcher": {}, "power": "unknown"})");
    (void)titles();
    ASSERT_GT(kwh(), 3);
    EXPECT_FALSE(says("hours and tokens only"));
    EXPECT_FALSE(says("so no kWh"));
    EXPECT_TRUE(says("From 2026-03-01T02:36:00Z on: power unknown"));
}

TEST_F(SettingsInForceTest, ThatChangeOftenAreCounted)
{
    for (int i = 0; i < 8; ++i) log(0.1 + 0.1 * i, 400, 2000 + 100.0 * i);
    EXPECT_TRUE(
        says("changed 7 times, as the notes say. From 2026-03-01T00:48:00Z on: "
             "source not stated; 0.4 kW idle, 2.7 kW training"));
}

// EAST trains in E until 2:00. N has no other site.
TEST_F(SettingsInForceTest, OfTheRegionCountForAlwaysOn)
{
    files.run.reference_site = {"WEST"};
    log(0.1, 400, 2000);
    files.run.sites[0].region = {"N"};
    log(2.6, 400, 2000);
    EXPECT_TRUE(says("E: rate and power of EAST, 1 tokens/s alone."));
    EXPECT_TRUE(says("N: rate and power of EAST, 1 tokens/s alone."));
    EXPECT_FALSE(says("no site in this region has logged a step"));
}

TEST_F(SettingsInForceTest, OfARunFileThatCannotBeReadAreADoubt)
{
    log(0.1, 400, 2000, "EAST", R"({"training": {"batch_tokens": 0}})");
    EXPECT_THAT(titles(), testing::ElementsAre("Unusable settings"));
    EXPECT_TRUE(has_note("run.json as logged at 2026-03-01T00:06:00Z"));
}

TEST_F(SettingsInForceTest, OfAnotherSiteAreRefused)
{
    log(0.1, 400, 2000);
    log(0.2, 4, 20, "WEST");
    EXPECT_THAT(titles(), testing::ElementsAre("Unusable settings"));
    EXPECT_EQ(bound(), Bound::uncertain);
}

}  // namespace
}  // namespace curtail::account
