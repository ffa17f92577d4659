// SPDX-License-Identifier: Apache-2.0
// The carbon bill of a small run, worked out by hand.
#include <gmock/gmock.h>

#include "account/figures.hpp"
#include "account/small_run.hpp"
#include "core/files.hpp"
#include "report/document.hpp"
#include "report/page.hpp"
#include "report/tables.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::account {
namespace {

using report::document;
using report::static_tables;
using report::summary_text;
using test::at;
using test::entry;
using test::hourly;
using test::number;
using test::small_run;
using testing::HasSubstr;
using testing::Not;

// Power: 0.4 kW held, 2 kW training. Intensity in g/kWh at 0:00, 1:00, 2:00, 3:00:  E 50, 50, 150,
// 350;  W 200, 40, 40, 120.
//
// EAST, in E          kW    h    mean g/kWh              kWh     g   below 100 g/kWh, kWh
//   starting  0:00   0.4  0.5    50                      0.2    10   0.2
//   training  0:30   2    0.5    50                      1.0    50   1.0
//   training  1:00   2    1      50 to 150: 100          2.0   200   1.0   (until 1:30)
//   draining  2:00   0.4  0.5    150 to 250: 200         0.2    40   0
//                                                        3.4   300   2.2
// WEST, in W
//   training  1:00   2    1      40                      2.0    80   2.0
//   exchange  2:00   0.4  0.5    40 to 80: 60            0.2    12   0.2
//   training  2:30   2    0.5    80 to 120: 100          1.0   100   0.5   (until 2:45)
//                                                        3.2   192   2.7
//
// Always on: alone a step of 900 tokens took 900 s, so 7200 tokens take 2 h from 0:00 at 2 kW, 4
// kWh:
//   E  2 x 50 + 2 x 100 = 300 g      W  2 x 120 + 2 x 40 = 320 g      N  4 x 500 = 2000 g
TEST(Bill, OfTheSitesEqualsTheHandComputation)
{
    auto const account = account_of(small_run());
    auto const& east = account.sites[0].bill;
    auto const& west = account.sites[1].bill;
    EXPECT_NEAR(east.total.energy.value, 3400, 1e-9);
    EXPECT_NEAR(east.total.carbon.value, 300, 1e-9);
    EXPECT_NEAR(east.total.clean.value, 2200, 1e-9);
    EXPECT_NEAR(west.total.energy.value, 3200, 1e-9);
    EXPECT_NEAR(west.total.carbon.value, 192, 1e-9);
    EXPECT_NEAR(west.total.clean.value, 2700, 1e-9);
    EXPECT_NEAR(east.by_state.at(energy::State::training).carbon.value, 250, 1e-9);
    EXPECT_NEAR(east.by_state.at(energy::State::draining).carbon.value, 40, 1e-9);
    EXPECT_NEAR(west.by_state.at(energy::State::exchange).carbon.value, 12, 1e-9);
    EXPECT_NEAR(east.inside_windows.value, 3200, 1e-9) << "all but the drain";
    EXPECT_TRUE(total_of(account).whole());
}

TEST(Bill, OfAlwaysOnEqualsTheHandComputation)
{
    auto const account = account_of(small_run());
    EXPECT_NEAR(*account.lone_rate, 1, 1e-12);
    ASSERT_EQ(account.always_on.size(), 3U);
    double const grams[] = {300, 320, 2000};
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(account.always_on[i].range[0].energy.value, 4000, 1e-9);
        EXPECT_NEAR(account.always_on[i].range[0].carbon.value, grams[i], 1e-9)
            << account.always_on[i].region;
        EXPECT_NEAR(*carbon_ratio(total_of(account), account.always_on[i].range[0]), 492 / grams[i],
                    1e-12);
    }
}

TEST(Bill, IsShownByTableAndDocument)
{
    auto const account = account_of(small_run());
    auto const text = summary_text(account);
    EXPECT_THAT(text,
                testing::ContainsRegex("EAST +3.400 +94.1 +64.7 +300.0 +100.00 +93.75 +15.00"));
    EXPECT_THAT(text,
                testing::ContainsRegex("WEST +3.200 +100.0 +84.4 +192.0 +64.00 +60.00 +9.60"));
    EXPECT_THAT(
        text, testing::ContainsRegex("all sites +6.600 +97.0 +74.2 +492.0 +164.00 +153.75 +24.60"));
    auto const doc = document(account, std::nullopt);
    EXPECT_NEAR(*doc.find("headline")->as_object()->find("co2_kg")->as_number(), 0.492, 1e-12);
    auto const* grams = doc.find("energy")->as_object()->find("total_g")->as_object();
    EXPECT_NEAR(*grams->find("EAST")->as_number(), 300, 1e-9);
    EXPECT_NEAR(*grams->find("WEST")->as_number(), 192, 1e-9);
}

TEST(Bill, OmitsThePercentageOfARegionWithGapsOnly)
{
    auto files = small_run();
    files.trace[2] = hourly("N", {500, std::nullopt, 500, 500, 500});
    auto const account = account_of(files);
    EXPECT_TRUE(carbon_ratio(total_of(account), account.always_on[0].range[0]));
    EXPECT_FALSE(carbon_ratio(total_of(account), account.always_on[2].range[0]));
    EXPECT_THAT(summary_text(account),
                HasSubstr("N: 4.000 of 4.000 kWh are drawn where the signal has no sample"));
    std::vector<std::string> titles;
    for (auto const& [title, note] : account.notes) titles.push_back(title);
    EXPECT_THAT(titles, testing::Contains("Always on, N"));
    EXPECT_THAT(titles, Not(testing::Contains("Always on, E")));
}

TEST(Bill, WithPartOfTheSignalMissingIsALowerBound)
{
    auto files = small_run();
    files.trace[0] =
        hourly("E", {50, 50, 150, std::nullopt, 50});  // the drain is at unknown intensity
    auto const account = account_of(files);
    EXPECT_NEAR(account.sites[0].bill.total.known_carbon()->value, 260, 1e-9);
    EXPECT_FALSE(total_of(account).whole());
    EXPECT_THAT(summary_text(account), testing::ContainsRegex("EAST +3.400 +94.1 +68.8 +>260.0"))
        << "2.2 kWh of 3.2 whose intensity is known";
    EXPECT_THAT(summary_text(account),
                HasSubstr("0.200 kWh were drawn while the signal was unknown"));
}

// 21600 tokens take 6 h, of which the trace knows four:
//   E  2 x (50 + 100 + 250 + 200) + 2 h of 50, 2 x 100 = 1400 g      W  2 x (120 + 40 + 80 + 260) +
//   2 h of 400, 2 x 800 = 2600 g
TEST(Bill, OfAlwaysOnHoldsTheLastSampleAndNotesIt)
{
    auto files = small_run();
    files.commits.back().tokens = {21'600};
    auto const account = account_of(files);
    auto const total = total_of(account);
    EXPECT_NEAR(account.always_on[0].range[0].carbon.value, 1400, 1e-9);
    EXPECT_NEAR(account.always_on[1].range[0].carbon.value, 2600, 1e-9);
    EXPECT_NEAR(carbon_ratio(total, account.always_on[0].range[0]).value_or(0), 492.0 / 1400,
                1e-12);
    EXPECT_THAT(
        summary_text(account),
        HasSubstr(
            "  E, W, N: the last 7200 s (4.000 of 12.000 kWh) are after the signal's last sample"));
    EXPECT_THAT(account.notes, testing::Contains(testing::Pair("Always on, after the signal's end",
                                                               HasSubstr("7200 s"))));
    auto const doc = document(account, std::nullopt);
    auto const always_on = *entry(doc, {"headline", "always_on"})->as_array()->front().as_object();
    EXPECT_NEAR(number(always_on, {"held_s"}), 7200, 1e-9);
    EXPECT_NEAR(number(always_on, {"held_kwh"}), 4, 1e-9);
    EXPECT_THAT(summary_text(account_of(small_run())), Not(HasSubstr("last sample")));
}

TEST(Bill, ASiteThatDrewNothingLeavesTheCarbonKnown)
{
    auto files = small_run();
    files.run.sites.push_back(test::site("SOUTH", "S"));
    files.sites.resize(3);
    auto const account = account_of(files);
    EXPECT_EQ(account.missing.count("carbon"), 0U);
    EXPECT_THAT(summary_text(account), Not(HasSubstr("CO2 is unknown")));
}

TEST(Bill, InTheDocumentEqualsTheTable)
{
    auto const doc = document(account_of(small_run()), std::nullopt);
    EXPECT_NEAR(number(doc, {"lone_rate"}), 1, 1e-12);
    EXPECT_EQ(number(doc, {"commits", "all"}), 2);
    EXPECT_EQ(number(doc, {"commits", "joint"}), 1);
    EXPECT_NEAR(number(doc, {"totals", "all", "kwh"}), 6.6, 1e-12);
    EXPECT_NEAR(number(doc, {"totals", "all", "g"}), 492, 1e-9);
    EXPECT_NEAR(number(doc, {"totals", "all", "ratio", "E"}), 1.64, 1e-12);
    EXPECT_NEAR(number(doc, {"totals", "sites", "EAST", "ratio", "W"}), 0.9375, 1e-12);
    EXPECT_NEAR(number(doc, {"totals", "sites", "WEST", "share"}), 2.7 / 3.2, 1e-12);
    EXPECT_NEAR(number(doc, {"totals", "sites", "EAST", "share_inside_windows"}), 3.2 / 3.4, 1e-12);
    EXPECT_EQ(number(doc, {"totals", "sites", "EAST", "joint_rounds"}), 1);
    EXPECT_EQ(number(doc, {"totals", "sites", "EAST", "lone_rounds"}), 0);
}

TEST(Bill, OfAlwaysOnStartsWithItsTraceAtItsSitesPower)
{
    auto files = small_run();
    files.run.sites[1].power.training = Watts{1000};
    files.trace[0].points.insert(files.trace[0].points.begin(), {at(-24), GramsPerKwh{50}});
    auto const doc = document(account_of(files), std::nullopt);
    auto const of = [&](char const* key, char const* region) {
        return entry(doc, {"energy", "cumulative", "always_on", key, region});
    };
    EXPECT_EQ(of("start_s", "E"), json::Value(-86'400.0));
    EXPECT_EQ(of("start_s", "W"), json::Value(0.0));
    ASSERT_TRUE(of("wh", "E") && of("wh", "W"));
    EXPECT_EQ(of("wh", "E")->as_array()->back().as_number(), 4000);
    EXPECT_EQ(of("wh", "W")->as_array()->back().as_number(), 2000);
}

TEST(Bill, ExistsBeforeAnyWorkIsCommitted)
{
    auto files = small_run();
    files.commits.clear();
    auto const account = account_of(files);
    auto const doc = document(account, std::nullopt);
    EXPECT_NEAR(number(doc, {"totals", "all", "kwh"}), 6.6, 1e-12);
    EXPECT_NEAR(number(doc, {"totals", "all", "g"}), 492, 1e-9);
    EXPECT_EQ(number(doc, {"totals", "all", "tokens"}), 0);
    EXPECT_THAT(static_tables(account), HasSubstr("Summary"));
    EXPECT_FALSE(entry(doc, {"headline"}));
}

TEST(Bill, AnUnknownFigureIsNullAndNever0)
{
    auto files = small_run();
    auto const doc = document(account_of(files), std::nullopt);
    EXPECT_EQ(entry(doc, {"round_summary", "merge_s"}), json::Value())
        << "no site logged when it contributed";
    files.sites[0].metrics.resize(1);
    files.sites[1].metrics.clear();
    auto const one_step = document(account_of(files), std::nullopt);
    EXPECT_EQ(
        entry(*entry(one_step, {"loss", "final"})->as_array()->front().as_object(), {"tail_se"}),
        json::Value());
    files.sites[0].metrics.clear();
    auto const no_step = document(account_of(files), std::nullopt);
    EXPECT_EQ(entry(*entry(no_step, {"comparison"})->as_array()->front().as_object(), {"wall_s"}),
              json::Value());
}

TEST(Loss, OfSitesAtTheSameStepIsTheirMean)
{
    auto files = small_run();
    for (std::size_t s = 0; s < 2; ++s)
        for (std::size_t i = 0; i < 4; ++i) {
            files.sites[s].metrics[i].progress = {900 * static_cast<std::int64_t>(i)};
            files.sites[s].metrics[i].loss = s == 0 ? 2 : 4;
        }
    auto const account = account_of(files);
    EXPECT_THAT(account.loss->curves[0].loss, testing::Each(testing::DoubleNear(3, 1e-12)));
    EXPECT_THAT(account.loss->curves[0].step, testing::ElementsAre(0, 1, 2, 3));
    EXPECT_NEAR(account.loss->finals[0].best_perplexity, (std::exp(2) + std::exp(4)) / 2, 1e-9);
}

class Samples : public testing::Test {
  protected:
    signals::SampleFile read(std::string const& lines, Millis max_age = std::chrono::hours(1))
    {
        EXPECT_TRUE(write_file(folder_ / "signals.jsonl", lines));
        auto sites = small_run().run.sites;
        for (auto& site : sites) site.signal_max_age = max_age;
        return read_samples(folder_ / "signals.jsonl", sites).value();
    }
    curtail::test::TemporaryFolder folder_;
};

std::string line(std::string const& region, double hours, json::Value intensity)
{
    return json::to_string(json::Object{{"region", region},
                                        {"time", format_time(at(hours))},
                                        {"intensity_gco2_per_kwh", std::move(intensity)},
                                        {"provider", "watttime"}}) +
           "\n";
}

TEST_F(Samples, OfThePollerGiveALiveRunItsBill)
{
    std::string lines;
    for (auto const& region : small_run().trace)
        for (auto const& p : region.points)
            if (region.region.value != "N")
                lines += line(region.region.value, seconds_between(at(0), p.time) / 3600,
                              p.intensity->value);
    auto files = small_run();
    files.trace = read(lines).regions;
    files.trace_from_file = false;
    auto const account = account_of(files);
    EXPECT_NEAR(total_of(account).known_carbon()->value, 492, 1e-9);
    EXPECT_EQ(account.always_on.size(), 2U);
    EXPECT_THAT(read(lines).providers, testing::ElementsAre("watttime"));
}

TEST_F(Samples, LeaveGapsUnknownAndCountBrokenLines)
{
    auto const file =
        read(line("E", 0, 50) + line("E", 0.25, nullptr) + "{\"region\":\"E\"\n" +
                 line("E", 0.5, 60) + line("E", 0.5, 70) + line("E", 0.75, 80) + line("E", 2, 90),
             std::chrono::minutes(15));
    EXPECT_EQ(file.broken_lines, 1);
    ASSERT_EQ(file.regions.size(), 1U);
    energy::IntensitySeries const series{file.regions[0].points};
    EXPECT_EQ(series.at(at(0)), GramsPerKwh{50});
    EXPECT_FALSE(series.at(at(0.1))) << "next to a sample without a value";
    EXPECT_EQ(series.at(at(0.5)), GramsPerKwh{70}) << "of equal times the last counts";
    EXPECT_EQ(series.at(at(0.625)), GramsPerKwh{75});
    EXPECT_FALSE(series.at(at(1))) << "unknown across an hour without samples";
    EXPECT_EQ(series.at(at(2)), GramsPerKwh{90});
}

TEST_F(Samples, OfAMissingFileAreEmpty)
{
    EXPECT_TRUE(read_samples(folder_ / "none.jsonl", {})->regions.empty());
}

TEST(Metrics, AStepWithoutAFiniteLossCountsExceptInTheCurves)
{
    curtail::test::TemporaryFolder const folder;
    auto const row = [](char const* loss) {
        return std::string(R"({"time":"2026-01-11T10:00:00Z","step":1,"round":1,"tokens":64,)"
                           R"("progress_tokens":0,"loss":)") +
               loss + R"(,"lr_scale":1,"step_s":2})" + "\n";
    };
    ASSERT_TRUE(write_file(folder / "metrics.jsonl", row("4.5") + row("null") + row("\"big\"")));
    auto const file = runlog::read_metrics(folder / "metrics.jsonl");
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->broken_lines, 1);
    ASSERT_EQ(file->steps.size(), 2U);
    EXPECT_EQ(file->steps[0].loss, 4.5);
    EXPECT_FALSE(file->steps[1].loss);
    EXPECT_EQ(file->steps[1].tokens, Tokens{64});

    auto files = small_run();
    auto const points = account_of(files).loss->raw.at(0).loss.size();
    files.sites[0].metrics[1].loss.reset();
    auto const account = account_of(files);
    EXPECT_EQ(account.loss->raw.at(0).loss.size(), points - 1);
    EXPECT_EQ(account.step, account_of(small_run()).step) << "its duration counts";
}

}  // namespace
}  // namespace curtail::account
