// SPDX-License-Identifier: Apache-2.0
// The carbon bill of a small run, worked out by hand.
#include <gmock/gmock.h>

#include "bill/account/audit.hpp"
#include "bill/account/figures.hpp"
#include "bill/account/shown.hpp"
#include "bill/account/small_run.hpp"

namespace curtail::account {
namespace {

using report::document;
using test::at;
using test::entry;
using test::hourly;
using test::number;
using test::page_text;
using test::small_run;
using test::summary_text;
using testing::HasSubstr;
using testing::Not;

// Power: 0.4 kW held, 2 kW training. Each sample holds for an hour, from 0:00, 1:00, 2:00, 3:00 and
// 4:00 on. Intensity in g/kWh:  E 50, 80, 150, 350, 50;  W 200, 40, 120, 120, 400;  N always 500.
//
// EAST, in E          kW    h    g/kWh                    kWh     g   below 100 g/kWh, kWh
//   starting  0:00   0.4  0.5    50                      0.2    10   0.2
//   training  0:30   2    0.5    50 (until 1:00)         1.0    50   1.0
//   training  1:00   2    1      80                      2.0   160   2.0
//   draining  2:00   0.4  0.5    150                     0.2    30   0
//                                                        3.4   250   3.2
// WEST, in W
//   training  1:00   2    1      40                      2.0    80   2.0
//   exchange  2:00   0.4  0.5    120                     0.2    24   0
//   training  2:30   2    0.5    120                     1.0   120   0
//                                                        3.2   224   2.0
//
// Always on: alone a step of 900 tokens took 900 s, so 7200 tokens take 2 h from 0:00 at 2 kW, 4
// kWh:
//   E  2 x 50 + 2 x 80 = 260 g      W  2 x 200 + 2 x 40 = 480 g      N  4 x 500 = 2000 g
TEST(Bill, OfTheSitesEqualsTheHandComputation)
{
    auto const account = account_of(small_run());
    auto const& east = account.sites[0].bill;
    auto const& west = account.sites[1].bill;
    EXPECT_NEAR(east.total.energy.value, 3400, 1e-9);
    EXPECT_NEAR(east.total.carbon.value, 250, 1e-9);
    EXPECT_NEAR(east.total.clean.value, 3200, 1e-9);
    EXPECT_NEAR(west.total.energy.value, 3200, 1e-9);
    EXPECT_NEAR(west.total.carbon.value, 224, 1e-9);
    EXPECT_NEAR(west.total.clean.value, 2000, 1e-9);
    EXPECT_NEAR(east.by_state.at(energy::PowerState::training).carbon.value, 210, 1e-9);
    EXPECT_NEAR(east.by_state.at(energy::PowerState::draining).carbon.value, 30, 1e-9);
    EXPECT_NEAR(west.by_state.at(energy::PowerState::exchange).carbon.value, 24, 1e-9);
    EXPECT_NEAR(east.inside_windows.value, 3200, 1e-9) << "all but the drain";
    EXPECT_TRUE(total_of(account).whole());
}

TEST(Bill, OfAlwaysOnEqualsTheHandComputation)
{
    auto const account = account_of(small_run());
    for (auto const& site : account.sites) EXPECT_EQ(site.rate, (SiteRate{1, true}));
    ASSERT_EQ(account.always_on.size(), 3U);
    double const grams[] = {260, 480, 2000};
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(account.always_on[i].tally.energy.value, 4000, 1e-9);
        EXPECT_NEAR(account.always_on[i].tally.carbon.value, grams[i], 1e-9)
            << account.always_on[i].region;
        EXPECT_NEAR(*carbon_ratio(total_of(account), account, account.always_on[i]), 474 / grams[i],
                    1e-12);
    }
}

TEST(Bill, IsShownByTableAndDocument)
{
    auto const account = account_of(small_run());
    auto const text = summary_text(account);
    EXPECT_THAT(text, testing::ContainsRegex("EAST +3.40 +94.1 +94.1 +250\n"));
    EXPECT_THAT(text, testing::ContainsRegex("WEST +3.20 +100 +62.5 +224\n"));
    EXPECT_THAT(text, testing::ContainsRegex("all sites +6.60 +97.0 +78.8 +474\n"));
    auto const doc = document(account, std::nullopt);
    EXPECT_NEAR(*doc.find("headline")->as_object()->find("co2_kg")->as_number(), 0.474, 1e-12);
    auto const* grams = doc.find("energy")->as_object()->find("total_g")->as_object();
    EXPECT_NEAR(*grams->find("EAST")->as_number(), 250, 1e-9);
    EXPECT_NEAR(*grams->find("WEST")->as_number(), 224, 1e-9);
    EXPECT_NEAR(number(doc, {"totals", "sites", "EAST", "ratio", "E"}), 0.962, 1e-3);
    EXPECT_NEAR(number(doc, {"totals", "sites", "WEST", "ratio", "N"}), 0.112, 1e-12);
    EXPECT_THAT(text, testing::ContainsRegex("  N +4.00 +0 +2000 +23.7 "));
}

TEST(Bill, OfRunAndAlwaysOnIncludesThePueOfTheSite)
{
    auto files = small_run();
    files.commits.back().tokens = {21'600};
    auto const before = account_of(files);
    files.run.sites[0].power->pue = 1.25;
    auto const account = account_of(files);
    EXPECT_NEAR(account.sites[0].bill.total.energy.value, 1.25 * 3400, 1e-9);
    EXPECT_NEAR(account.sites[0].bill.total.carbon.value, 1.25 * 250, 1e-9);
    EXPECT_EQ(account.sites[1].bill.total, before.sites[1].bill.total);
    EXPECT_NEAR(account.sites[0].cumulative.back().energy.value, 1.25 * 3400, 1e-9);
    EXPECT_NEAR(account.always_on[0].tally.energy.value, 1.25 * 10'000, 1e-9);
    EXPECT_NEAR(account.always_on[1].tally.energy.value, 10'000, 1e-9);
}

TEST(Bill, NamesItsAccountingRule)
{
    auto const account = account_of(small_run());
    EXPECT_THAT(summary_text(account), HasSubstr("Accounting rule: hold: a sample counts until"));
    EXPECT_THAT(account.provenance[0].text, HasSubstr("Accounting rule hold"));
    EXPECT_THAT(account.provenance[0].text, HasSubstr("uses the rule linear"));
}

TEST(Bill, WithPartOfTheSignalMissingIsALowerBound)
{
    auto files = small_run();
    files.trace[0] =
        hourly("E", {50, 80, std::nullopt, 350, 50});  // the drain is at unknown intensity
    auto const account = account_of(files);
    EXPECT_NEAR(account.sites[0].bill.total.known_carbon()->value, 220, 1e-9);
    EXPECT_FALSE(total_of(account).whole());
    EXPECT_THAT(summary_text(account), testing::ContainsRegex("EAST +3.40 +94.1 +94.1 +>220"))
        << "3.2 of 3.4 kWh are known to be below the threshold";
    EXPECT_THAT(summary_text(account),
                HasSubstr("0.200 kWh were drawn while the signal was unknown"));
}

TEST(Bill, NamesARegionWithoutAValueOnce)
{
    auto files = small_run();
    files.run.sites[1].region = {"E"};
    std::erase_if(files.trace, [](auto const& series) { return series.region.value == "E"; });
    EXPECT_THAT(account_of(files).notes,
                testing::Contains(testing::Pair(
                    "CO₂ unknown", testing::StartsWith("hand.csv has no value for E. "))));
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

// The model includes work of a site whose logs are lost: its energy is unknown, never 0.
TEST(Bill, OfWorkThatNoLogHasIsUnknown)
{
    auto files = small_run();
    files.sites[1] = {};
    std::erase_if(files.poller_events, [](Event const& e) { return e.site == "WEST"; });
    auto const account = account_of(files);
    EXPECT_FALSE(total_of(account).known());
    EXPECT_FALSE(account.sites[1].bill.total.known());
    EXPECT_TRUE(account.sites[0].bill.total.whole());
    EXPECT_FALSE(carbon_ratio(total_of(account), account, account.always_on[0]));
    EXPECT_THAT(account.missing.at("carbon"), HasSubstr("no log of the work of WEST"));
    EXPECT_THAT(summary_text(account), HasSubstr("CO2 is unknown: there is no log of the work of "
                                                 "WEST"));
    auto const doc = document(account, std::nullopt);
    EXPECT_EQ(entry(doc, {"headline", "energy_is_whole"}), json::Value(false));
    EXPECT_EQ(entry(doc, {"headline", "co2_kg"}), json::Value());
    EXPECT_EQ(entry(doc, {"totals", "sites", "WEST", "g"}), json::Value());
    EXPECT_EQ(entry(doc, {"totals", "sites", "EAST", "energy_is_whole"}), json::Value(true));
}

TEST(Bill, OfASiteThatTheRunFileLacksIsUnknown)
{
    auto files = small_run();
    files.run.sites.pop_back();
    files.sites.pop_back();
    auto const account = account_of(files);
    EXPECT_FALSE(total_of(account).known());
    EXPECT_FALSE(total_bill(account).total.known());
    EXPECT_TRUE(account.sites[0].bill.total.whole());
    EXPECT_THAT(account.missing.at("carbon"), HasSubstr("WEST is not in the run file"));
}

TEST(Bill, AtNegativeIntensityIsNoNegativeFootprint)
{
    auto files = small_run();
    files.trace[0] = hourly("E", {-50, -80, -80, -50, -50});
    auto const account = account_of(files);
    EXPECT_EQ(account.sites[0].bill.total.known_carbon()->value, 0);
    EXPECT_GT(account.sites[0].bill.total.avoided.value, 0);
    EXPECT_GT(total_of(account).known_carbon()->value, 0);
    EXPECT_GT(grams_per_million_tokens(account).value(), 0);
    EXPECT_THAT(summary_text(account), testing::Not(testing::ContainsRegex(" -[0-9]")));
    EXPECT_TRUE(std::ranges::any_of(
        account.notes, [](auto const& note) { return note.first == "Avoided emissions"; }));
}

// Lines of metrics.jsonl that a full disk swallowed leave the logged states, which nothing
// confirms.
TEST(Bill, OfStepsThatNoLineRecordsIsUncertain)
{
    auto files = small_run();
    files.sites[1].metrics.erase(files.sites[1].metrics.begin() + 1);
    files.commits.back().contributions[1].tokens = {3600};
    for (auto& site : files.sites) test::add_monotonic_times(site);
    auto const account = account_of(files);
    EXPECT_EQ(total_of(account).bound, energy::Bound::uncertain);
    EXPECT_EQ(account.doubts.at(0).title, "States and steps differ");
    EXPECT_THAT(account.doubts.at(0).text, HasSubstr("WEST: by events.jsonl, job"));
}

TEST(Bill, InTheDocumentEqualsTheTable)
{
    auto const doc = document(account_of(small_run()), std::nullopt);
    auto const sites = *entry(doc, {"sites"});
    auto const& site = *sites.as_array()->front().as_object();
    EXPECT_NEAR(number(site, {"rate", "tokens_per_s"}), 1, 1e-12);
    EXPECT_EQ(entry(site, {"rate", "from"}), json::Value("lone"));
    EXPECT_EQ(number(doc, {"commits", "all"}), 2);
    EXPECT_EQ(number(doc, {"commits", "joint"}), 1);
    EXPECT_NEAR(number(doc, {"totals", "all", "kwh"}), 6.6, 1e-12);
    EXPECT_NEAR(number(doc, {"totals", "all", "g"}), 474, 1e-9);
    EXPECT_NEAR(number(doc, {"totals", "all", "ratio", "E"}), 474.0 / 260, 1e-12);
    EXPECT_NEAR(number(doc, {"totals", "sites", "EAST", "ratio", "W"}), 250.0 / 480, 1e-12);
    EXPECT_NEAR(number(doc, {"totals", "sites", "WEST", "share"}), 2.0 / 3.2, 1e-12);
    EXPECT_NEAR(number(doc, {"totals", "sites", "EAST", "share_inside_windows"}), 3.2 / 3.4, 1e-12);
    EXPECT_EQ(number(doc, {"totals", "sites", "EAST", "joint_rounds"}), 1);
    EXPECT_EQ(number(doc, {"totals", "sites", "EAST", "lone_rounds"}), 0);
}

TEST(Bill, ExistsBeforeAnyWorkIsCommitted)
{
    auto files = small_run();
    files.commits.clear();
    auto const account = account_of(files);
    auto const doc = document(account, std::nullopt);
    EXPECT_NEAR(number(doc, {"totals", "all", "kwh"}), 6.6, 1e-12);
    EXPECT_NEAR(number(doc, {"totals", "all", "g"}), 474, 1e-9);
    EXPECT_EQ(number(doc, {"totals", "all", "tokens"}), 0);
    EXPECT_NEAR(number(doc, {"headline", "energy_kwh"}), 6.6, 1e-12);
    EXPECT_NEAR(number(doc, {"headline", "co2_kg"}), 0.474, 1e-12);
    EXPECT_EQ(number(doc, {"headline", "tokens"}), 0);
    EXPECT_THAT(page_text(account), HasSubstr("Summary"));
    EXPECT_THAT(page_text(account), HasSubstr("No work is committed yet"));
    EXPECT_THAT(page_text(account), HasSubstr("So far, the sites have drawn 6.60 kWh."));
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
    std::vector<double> steps;
    for (auto const& point : account.loss->curves[0].points) {
        EXPECT_NEAR(point.loss, 3, 1e-12);
        steps.push_back(point.step);
    }
    EXPECT_THAT(steps, testing::ElementsAre(0, 1, 2, 3));
    EXPECT_NEAR(account.loss->finals[0].best_perplexity, (std::exp(2) + std::exp(4)) / 2, 1e-9);
}

// Samples every `spacing_h` hours from 0:00 on, as a live provider gives them.
RegionSeries samples(std::string region, std::vector<double> const& grams, double spacing_h,
                     std::optional<Millis> period = {})
{
    RegionSeries series{{std::move(region)}, {}};
    for (std::size_t i = 0; i < grams.size(); ++i)
        series.points.push_back(
            {at(spacing_h * static_cast<double>(i)), GramsPerKwh{grams[i]}, period});
    return series;
}

// Samples every 5 min until 2:50, when WEST trains for 10 more minutes. The last one holds for
// signal_max_age_s, 600 s.
TEST(Bill, OfALiveRunKnowsTheTimeAfterTheLastSample)
{
    auto files = small_run();
    std::vector<double> const grams(35, 50);
    files.trace = {samples("E", grams, 1.0 / 12, Seconds{300}),
                   samples("W", grams, 1.0 / 12, Seconds{300})};
    ASSERT_EQ(files.trace[1].points.back().time, at(3) - Seconds{600});
    auto const account = account_of(files);
    EXPECT_EQ(total_of(account).unknown.value, 0);
    EXPECT_NEAR(total_of(account).carbon.value, 6.6 * 50, 1e-9);
    EXPECT_EQ(account.missing.count("ratio"), 0U);
    for (auto const& scenario : account.always_on)
        EXPECT_NEAR(carbon_ratio(total_of(account), account, scenario).value_or(0), 1.65, 1e-12)
            << scenario.region;
    EXPECT_THAT(summary_text(account), testing::ContainsRegex("all sites +6.60 +97.0 +100 +330\n"));
}

// Samples of 50 g/kWh every 15 min hold for 15 min. Those of 1:15 and 1:30 are missing, so the
// intensity is unknown from 1:15 to 1:45, while EAST draws 2 kW: 1 kWh.
TEST(Bill, OfEnergyInAGapBetweenSamplesIsUnknown)
{
    auto files = small_run();
    files.run.sites[0].signal_max_age = Seconds{900};
    files.trace[0] = samples("E", std::vector<double>(13, 50), 0.25);
    auto& points = files.trace[0].points;
    points.erase(points.begin() + 5, points.begin() + 7);
    auto const bill = account_of(files).sites[0].bill;
    EXPECT_NEAR(bill.total.unknown.value, 1000, 1e-9);
    EXPECT_NEAR(bill.total.carbon.value, (3.4 - 1) * 50, 1e-9);
}

// Samples every 30 min that apply for an hour each: the later one counts. EAST draws 0.2 kWh at
// 50 g/kWh, 1 at 80, 1 at 50, 1 at 80, 0.2 at 50.
TEST(Bill, OfEnergyWhereTwoSamplesOverlapCountsTheLaterOne)
{
    auto files = small_run();
    files.trace[0] = samples("E", {50, 80, 50, 80, 50, 80}, 0.5, std::chrono::hours(1));
    auto const bill = account_of(files).sites[0].bill;
    EXPECT_EQ(bill.total.unknown.value, 0);
    EXPECT_NEAR(bill.total.carbon.value, 10 + 80 + 50 + 80 + 10, 1e-9);
}

// A line of signals.jsonl that applies for an hour.
std::string line(std::string const& region, SamplePoint const& point, char const* kind)
{
    return json::to_string(json::Object{{"region", region},
                                        {"time", format_time(point.time)},
                                        {"intensity_gco2_per_kwh", point.intensity->value},
                                        {"provider", "watttime"},
                                        {"kind", kind},
                                        {"period_s", 3600}}) +
           "\n";
}

TEST(Bill, OfALiveRunComesFromTheMarginalSamplesOfThePoller)
{
    std::string lines;
    auto files = small_run();
    for (auto const& region : files.trace)
        for (auto point : region.points) {
            lines += line(region.region.value, point, "marginal");
            point.time += Seconds{60};
            point.intensity = GramsPerKwh{900};
            lines += line(region.region.value, point, "average");
        }
    files.trace = samples::parse_samples(std::array{samples::SampleText{lines, {}}}).regions;
    files.trace_from_file = false;
    auto const account = account_of(files);
    EXPECT_NEAR(total_of(account).known_carbon()->value, 474, 1e-9);
    EXPECT_EQ(account.always_on.size(), 3U);
}

TEST(Metrics, AStepWithoutAFiniteLossCountsExceptInTheCurves)
{
    auto const row = [](char const* loss) {
        return std::string(R"({"time":"2026-01-11T10:00:00Z","step":1,"round":1,"tokens":64,)"
                           R"("progress_tokens":0,"loss":)") +
               loss + R"(,"lr_scale":1,"step_s":2})" + "\n";
    };
    auto const file = runlog::parse_metrics(row("4.5") + row("null") + row("\"big\""));
    EXPECT_EQ(file.broken_lines.count, 1);
    ASSERT_EQ(file.steps.size(), 2U);
    EXPECT_EQ(file.steps[0].loss, 4.5);
    EXPECT_FALSE(file.steps[1].loss);
    EXPECT_EQ(file.steps[1].tokens, Tokens{64});

    auto files = small_run();
    auto const points = account_of(files).loss->raw.at(0).points.size();
    files.sites[0].metrics[1].loss.reset();
    auto const account = account_of(files);
    EXPECT_EQ(account.loss->raw.at(0).points.size(), points - 1);
    EXPECT_EQ(account.step, account_of(small_run()).step) << "its duration counts";
}

}  // namespace
}  // namespace curtail::account
