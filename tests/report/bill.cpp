// The carbon bill of a small run, worked out by hand.
#include <gmock/gmock.h>

#include "core/files.hpp"
#include "report/document.hpp"
#include "report/small_run.hpp"
#include "report/tables.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::report {
namespace {

using test::at;
using test::hourly;
using test::small_run;
using testing::HasSubstr;
using testing::Not;

// Power: 0.4 kW held, 2 kW training. Intensity in g/kWh at 0:00, 1:00, 2:00, 3:00:  E 50, 50, 150, 350;  W 200, 40, 40, 120.
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
// Always on: alone a step of 900 tokens took 900 s, so 7200 tokens take 2 h from 0:00 at 2 kW, 4 kWh:
//   E  2 x 50 + 2 x 100 = 300 g      W  2 x 120 + 2 x 40 = 320 g      N  4 x 500 = 2000 g
TEST(Bill, OfTheSitesIsWhatAHandComputes)
{
    auto const account = account_of(small_run());
    auto const& east = account.sites[0].ledger;
    auto const& west = account.sites[1].ledger;
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
    EXPECT_TRUE(account.total().whole());
}

TEST(Bill, OfAlwaysOnIsWhatAHandComputes)
{
    auto const account = account_of(small_run());
    EXPECT_NEAR(*account.lone_rate, 1, 1e-12);
    ASSERT_EQ(account.always_on.size(), 3U);
    double const grams[] = {300, 320, 2000};
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(account.always_on[i].range[0].energy.value, 4000, 1e-9);
        EXPECT_NEAR(account.always_on[i].range[0].carbon.value, grams[i], 1e-9) << account.always_on[i].region;
        EXPECT_NEAR(*carbon_ratio(account.total(), account.always_on[i].range[0]), 492 / grams[i], 1e-12);
    }
}

TEST(Bill, IsWhatTheTableAndTheDocumentShow)
{
    auto const account = account_of(small_run());
    auto const text = summary_text(account);
    EXPECT_THAT(text, testing::ContainsRegex("EAST +3.400 +94.1 +64.7 +300.0 +100.00 +93.75 +15.00"));
    EXPECT_THAT(text, testing::ContainsRegex("WEST +3.200 +100.0 +84.4 +192.0 +64.00 +60.00 +9.60"));
    EXPECT_THAT(text, testing::ContainsRegex("all sites +6.600 +97.0 +74.2 +492.0 +164.00 +153.75 +24.60"));
    auto const doc = document(account, std::nullopt);
    EXPECT_NEAR(*doc.find("headline")->as_object()->find("co2_kg")->as_number(), 0.492, 1e-12);
    auto const* grams = doc.find("energy")->as_object()->find("total_g")->as_object();
    EXPECT_NEAR(*grams->find("EAST")->as_number(), 300, 1e-9);
    EXPECT_NEAR(*grams->find("WEST")->as_number(), 192, 1e-9);
}

TEST(Bill, APercentageIsLeftOutWhereOnlyThatRegionHasGaps)
{
    auto files = small_run();
    files.trace[2] = hourly("N", {500, std::nullopt, 500, 500, 500});
    auto const account = account_of(files);
    EXPECT_TRUE(carbon_ratio(account.total(), account.always_on[0].range[0]));
    EXPECT_FALSE(carbon_ratio(account.total(), account.always_on[2].range[0]));
    EXPECT_THAT(summary_text(account), HasSubstr("N: 4.000 of 4.000 kWh lie where there is no sample"));
    std::vector<std::string> titles;
    for (auto const& [title, note] : account.notes) titles.push_back(title);
    EXPECT_THAT(titles, testing::Contains("Always on, N"));
    EXPECT_THAT(titles, Not(testing::Contains("Always on, E")));
}

TEST(Bill, WithPartOfTheSignalMissingIsALeastValue)
{
    auto files = small_run();
    files.trace[0] = hourly("E", {50, 50, 150, std::nullopt, 50});  // the drain is not known
    auto const account = account_of(files);
    EXPECT_NEAR(account.sites[0].ledger.total.known_carbon()->value, 260, 1e-9);
    EXPECT_FALSE(account.total().whole());
    EXPECT_THAT(summary_text(account), HasSubstr(">260.0"));
    EXPECT_THAT(summary_text(account), HasSubstr("0.200 kWh were drawn while the signal was unknown"));
}

class Samples : public testing::Test {
  protected:
    SampleFile read(std::string const& lines, Millis max_age = std::chrono::hours(1))
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
            if (region.region.value != "N") lines += line(region.region.value, seconds_between(at(0), p.time) / 3600, p.intensity->value);
    auto files = small_run();
    files.trace = read(lines).regions;
    files.whole_trace = false;
    auto const account = account_of(files);
    EXPECT_NEAR(account.total().known_carbon()->value, 492, 1e-9);
    EXPECT_EQ(account.always_on.size(), 2U);
    EXPECT_EQ(read(lines).providers, "watttime");
}

TEST_F(Samples, AreNotJoinedAcrossAGapAndBrokenLinesAreCounted)
{
    auto const file = read(line("E", 0, 50) + line("E", 0.25, nullptr) + "{\"region\":\"E\"\n" + line("E", 0.5, 60) + line("E", 0.5, 70) +
                               line("E", 0.75, 80) + line("E", 2, 90),
                           std::chrono::minutes(15));
    EXPECT_EQ(file.broken_lines, 1);
    ASSERT_EQ(file.regions.size(), 1U);
    energy::IntensitySeries const series{file.regions[0].points};
    EXPECT_EQ(series.at(at(0)), GramsPerKwh{50});
    EXPECT_FALSE(series.at(at(0.1))) << "beside a sample without a value";
    EXPECT_EQ(series.at(at(0.5)), GramsPerKwh{70}) << "of equal times the last counts";
    EXPECT_EQ(series.at(at(0.625)), GramsPerKwh{75});
    EXPECT_FALSE(series.at(at(1))) << "nothing is drawn across an hour without samples";
    EXPECT_EQ(series.at(at(2)), GramsPerKwh{90});
}

TEST_F(Samples, ThatAreNotThereAreNone) { EXPECT_TRUE(read_samples(folder_ / "none.jsonl", {})->regions.empty()); }

}  // namespace
}  // namespace curtail::report
