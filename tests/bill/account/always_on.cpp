// SPDX-License-Identifier: Apache-2.0
// Always-on training, the counterfactual of the run in small_run.hpp. bill.cpp works its carbon out
// by hand: 260 g in E, 480 g in W, 2000 g in N; the run itself emits 474 g.
#include <gmock/gmock.h>

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
using test::small_run;
using test::summary_text;
using testing::HasSubstr;
using testing::Not;

// EAST is 10 times as fast as WEST (90 s instead of 900 s for a lone step of 900 tokens) at 10
// times the power. 7200 tokens take EAST 720 s at 20 kW and WEST 7200 s at 2 kW: 4 kWh each.
TEST(AlwaysOn, IsEqualForAFastSiteAndASlowSiteOfTheSameEfficiency)
{
    auto files = small_run();
    files.run.sites[0].power = {Watts{4000}, Watts{20'000}};
    for (std::size_t i = 0; i < 2; ++i) files.sites[0].metrics[i].duration = Seconds{90};
    for (char const* reference : {"EAST", "WEST"}) {
        files.run.reference_site = {reference};
        auto const account = account_of(files);
        ASSERT_EQ(account.always_on.size(), 3U);
        for (auto const& scenario : account.always_on)
            EXPECT_NEAR(scenario.tally.energy.value, 4000, 1e-9)
                << scenario.region << ", reference " << reference;
    }
}

// A stop request ends the pause of a paced step, so that the step seems to be faster.
TEST(AlwaysOn, CountsAPacedStepThatAStopCutShortAtItsPace)
{
    auto files = small_run();
    files.run.training.step_at_least = FractionalSeconds{900};
    auto& east = files.sites[0];
    east.metrics.resize(2);
    east.metrics[1].duration = Seconds{10};
    for (auto& event : east.events) event.time = std::min(event.time, at(1));
    auto const account = account_of(files);
    EXPECT_NEAR(account.always_on[0].rate->tokens_per_s, 1, 1e-9);
}

TEST(AlwaysOn, NamesTheReferenceSiteInARegionWithoutASite)
{
    auto files = small_run();
    files.run.sites[1].power->training = Watts{1000};
    auto account = account_of(files);
    EXPECT_EQ(account.always_on[2].as_site, "EAST") << "the first site of the run";
    EXPECT_TRUE(account.always_on[2].elsewhere);
    EXPECT_FALSE(account.always_on[1].elsewhere);
    files.run.reference_site = {"WEST"};
    account = account_of(files);
    EXPECT_EQ(account.always_on[2].as_site, "WEST");
    EXPECT_NEAR(account.always_on[2].tally.energy.value, 2000, 1e-9);
    EXPECT_EQ(account.always_on[2].label, "Always on, N, as WEST");
    EXPECT_THAT(account.notes,
                testing::Contains(testing::Pair(
                    "Always on", HasSubstr("N: rate and power of WEST, 1 tokens/s alone (the "
                                           "reference site"))));
    auto const always_on = *entry(document(account, std::nullopt), {"headline", "always_on"});
    auto const& last = *always_on.as_array()->back().as_object();
    EXPECT_EQ(entry(last, {"as_site"}), json::Value("WEST"));
    EXPECT_EQ(entry(last, {"elsewhere"}), json::Value(true));
}

// Only the steps of EAST that ended at 1:30 and 2:00 remain. WEST trained meanwhile: 1800 tokens in
// 3600 s, so 7200 tokens take 4 h at 2 kW.
TEST(AlwaysOn, UsesAndMarksTheRateInJointRoundsOfASiteWithoutALoneStep)
{
    auto files = small_run();
    auto& steps = files.sites[0].metrics;
    steps.erase(steps.begin(), steps.begin() + 2);
    auto const account = account_of(files);
    EXPECT_EQ(account.sites[0].rate, (SiteRate{0.5, false}));
    EXPECT_EQ(account.sites[1].rate, (SiteRate{1, true})) << "each site has its own rate";
    EXPECT_NEAR(account.always_on[0].tally.energy.value, 8000, 1e-9);
    EXPECT_NEAR(account.always_on[1].tally.energy.value, 4000, 1e-9);
    EXPECT_THAT(summary_text(account), HasSubstr("*: in joint rounds"));
    EXPECT_THAT(account.notes,
                testing::Contains(testing::Pair("Rate of EAST", HasSubstr("joint"))));
    auto const always_on = *entry(document(account, std::nullopt), {"headline", "always_on"});
    EXPECT_EQ(entry(*always_on.as_array()->front().as_object(), {"rate", "from"}),
              json::Value("lone"))
        << "W has the least carbon";
    EXPECT_EQ(entry(*always_on.as_array()->at(1).as_object(), {"rate", "from"}),
              json::Value("joint"));
}

TEST(AlwaysOn, IsMissingWhereNoSiteGivesARate)
{
    auto files = small_run();
    files.sites[0].metrics.clear();
    auto account = account_of(files);
    ASSERT_EQ(account.always_on.size(), 1U) << "WEST has steps; EAST, the reference site, has none";
    EXPECT_EQ(account.always_on[0].region, "W");
    std::vector<std::string> titles;
    for (auto const& [title, note] : account.notes) titles.push_back(title);
    EXPECT_THAT(titles, testing::IsSupersetOf({"Always on, E", "Always on, N"}));
    files.run.reference_site = {"WEST"};
    account = account_of(files);
    ASSERT_EQ(account.always_on.size(), 3U);
    EXPECT_EQ(account.always_on[0].as_site, "WEST");
    EXPECT_TRUE(account.always_on[0].elsewhere);
}

TEST(AlwaysOn, HasNoPercentageInARegionWithGaps)
{
    auto files = small_run();
    files.trace[2] = hourly("N", {500, std::nullopt, 500, 500, 500});
    auto const account = account_of(files);
    EXPECT_TRUE(carbon_ratio(total_of(account), account, account.always_on[0]));
    EXPECT_FALSE(carbon_ratio(total_of(account), account, account.always_on[2]));
    EXPECT_THAT(summary_text(account),
                HasSubstr("N: 2.00 of 4.00 kWh are drawn where no sample holds"));
    std::vector<std::string> titles;
    for (auto const& [title, note] : account.notes) titles.push_back(title);
    EXPECT_THAT(titles, testing::Contains("Always on, N"));
    EXPECT_THAT(titles, Not(testing::Contains("Always on, E")));
}

TEST(AlwaysOn, SaysWhyNoRegionHasAPercentage)
{
    auto files = small_run();
    files.trace = {hourly("E", {50, std::nullopt, 150, 350, 50}), hourly("W", {0, 0, 0, 0, 0})};
    files.sites[0].events.clear();
    files.sites[0].metrics.clear();
    files.run.reference_site = {"WEST"};
    std::erase_if(files.poller_events, [](Event const& e) { return e.site == "EAST"; });
    files.commits.back().contributions.erase(files.commits.back().contributions.begin());
    auto const account = account_of(files);
    ASSERT_TRUE(total_of(account).whole());
    EXPECT_EQ(account.missing.at("ratio"),
              "always-on in E has no whole CO2, because samples are missing; always-on in W emits "
              "no CO2");
}

// 19800 tokens take 5.5 h, of which the trace knows five: its last sample, of 4:00, holds until
// 5:00. In these, always-on trains on 18000 tokens.
//   E  2 x (50 + 80 + 150 + 350 + 50) = 1360 g
//   W  2 x (200 + 40 + 120 + 120 + 400) = 1760 g
TEST(AlwaysOn, EndsWithTheObservedSignalAndIsComparedOverItsTokens)
{
    auto files = small_run();
    files.commits.back().tokens = {19'800};
    auto const account = account_of(files);
    auto const& east = account.always_on[0];
    EXPECT_NEAR(east.tally.carbon.value, 1360, 1e-9);
    EXPECT_NEAR(account.always_on[1].tally.carbon.value, 1760, 1e-9);
    EXPECT_EQ(east.tokens, Tokens{18'000});
    EXPECT_NEAR(east.observed, 5 / 5.5, 1e-12);
    EXPECT_NEAR(east.tally.energy.value, 10'000, 1e-9);
    EXPECT_NEAR(carbon_ratio(total_of(account), account, east).value_or(0),
                474.0 * 18'000 / 19'800 / 1360, 1e-12);
    EXPECT_THAT(summary_text(account),
                HasSubstr("E, W, N: always-on ends with the observed signal, after 90.9 % of its "
                          "time and 18,000 of 19,800 tokens"));
    EXPECT_THAT(account.notes, testing::Contains(testing::Pair("Always on, to the signal's end",
                                                               HasSubstr("18,000"))));
    auto const doc = document(account, std::nullopt);
    auto const always_on = *entry(doc, {"headline", "always_on"})->as_array()->front().as_object();
    EXPECT_NEAR(number(always_on, {"observed"}), 5 / 5.5, 1e-9);
    EXPECT_THAT(summary_text(account_of(small_run())), Not(HasSubstr("the observed signal")));
}

TEST(AlwaysOn, ThatIsObservedForLessThan90PercentHasNoPercentage)
{
    auto files = small_run();
    files.commits.back().tokens = {21'600};  // 6 h
    auto const account = account_of(files);
    for (auto const& scenario : account.always_on)
        EXPECT_FALSE(carbon_ratio(total_of(account), account, scenario)) << scenario.region;
    EXPECT_THAT(account.missing.at("ratio"),
                HasSubstr("only 83.3 % of always-on in E is observed"));
    EXPECT_THAT(summary_text(account), HasSubstr("no percentage is given"));
}

TEST(AlwaysOn, StartsWithItsTraceAtItsSitesPower)
{
    auto files = small_run();
    files.run.sites[1].power->training = Watts{1000};
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

}  // namespace
}  // namespace curtail::account
