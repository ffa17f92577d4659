// SPDX-License-Identifier: Apache-2.0
// Every published figure from the published logs, to the published digits.
#include <gtest/gtest.h>

#include <cmath>

#include "account/figures.hpp"
#include "reference/account.hpp"
#include "reference/published_values.hpp"
#include "report/document.hpp"
#include "signals/trace.hpp"
#include "support/paths.hpp"

namespace curtail::reference {
namespace {

std::filesystem::path const source = test::source_folder();

class Reference : public testing::Test {
  protected:
    static void SetUpTestSuite()
    {
        auto const trace = signals::read_trace(source / "signals/mci_2026-01-11.csv");
        ASSERT_TRUE(trace) << trace.error().message();
        auto logs = read_logs(source / "results/reference", trace->series());
        ASSERT_TRUE(logs) << logs.error().message();
        auto const history = history_of(*logs);
        ASSERT_TRUE(history) << history.error().message();
        values_ = published_values(*logs, *history);
        account_ = account_of(*logs, *history);
    }
    static double figure(std::string const& key)
    {
        for (auto const& f : values_)
            if (f.key == key) return f.value;
        ADD_FAILURE() << "no figure " << key;
        return NAN;
    }
    static std::vector<PublishedValue> values_;
    static account::Account account_;
};
std::vector<PublishedValue> Reference::values_;
account::Account Reference::account_;

struct Published {
    char const* key;
    double value;
    double relative;  // tolerance: what the published digits allow
};

class ReferenceFigure : public Reference, public testing::WithParamInterface<Published> {};

TEST_P(ReferenceFigure, IsAsPublished)
{
    auto const& [key, value, relative] = GetParam();
    double const found = figure(key);
    EXPECT_LE(std::abs(found - value), relative * std::max(std::abs(value), 1e-12))
        << key << " is " << found << ", published " << value;
}

INSTANTIATE_TEST_SUITE_P(
    Energy, ReferenceFigure,
    testing::Values(Published{"co2_kg", 1.3794970723765332, 1e-12},
                    Published{"baseline_co2_kg.CAISO_NORTH", 11.405112748367356, 1e-12},
                    Published{"baseline_co2_kg.SPP_TX", 14.54860350196352, 1e-12},
                    Published{"baseline_co2_kg.NEM_SA", 12.326679273742826, 1e-12},
                    Published{"baseline_co2_kg.DE", 27.069113102580967, 1e-12},
                    Published{"ratio_percent.CAISO_NORTH", 12.095426874, 1e-10},
                    Published{"ratio_percent.SPP_TX", 9.481989609, 1e-10},
                    Published{"ratio_percent.NEM_SA", 11.191149228, 1e-10},
                    Published{"ratio_percent.DE", 5.096203437, 1e-10},
                    Published{"energy_kwh", 37.72193333333335, 1e-12},
                    Published{"baseline_energy_kwh", 35.99346666666668, 1e-12},
                    Published{"curtailed_share", 0.9699361467863966, 1e-12},
                    Published{"baseline_curtailed_share.CAISO_NORTH", 0.33458294, 2e-8},
                    Published{"baseline_curtailed_share.SPP_TX", 0.37488285, 2e-8},
                    Published{"baseline_curtailed_share.NEM_SA", 0.58950328, 2e-8},
                    Published{"baseline_curtailed_share.DE", 0, 0}));

INSTANTIATE_TEST_SUITE_P(
    Training, ReferenceFigure,
    testing::Values(Published{"best_perplexity", 14.637505497610222, 1e-12},
                    Published{"best_perplexity.one_site", 14.72700774391375, 1e-12},
                    Published{"best_perplexity.two_sites", 15.234902636513816, 1e-12},
                    Published{"wall_time_s", 52550, 0}, Published{"wall_time_s.one_site", 64099, 0},
                    Published{"wall_time_s.two_sites", 39848, 0},
                    Published{"step_s.one_site", 2.729, 2e-4},
                    Published{"step_s.two_sites", 1.702, 3e-4}));

INSTANTIATE_TEST_SUITE_P(Rounds, ReferenceFigure,
                         testing::Values(Published{"round_s", 648, 8e-4},
                                         Published{"round_training_s", 515, 1e-9},
                                         Published{"round_before_s", 75.7, 7e-4},
                                         Published{"round_after_s", 51.3, 1e-3},
                                         Published{"round_merge_s", 1.7, 1e-9}));

INSTANTIATE_TEST_SUITE_P(
    Windows, ReferenceFigure,
    testing::Values(Published{"open_s.1", 286.7, 1e-9}, Published{"turned_dirty_s.1", 7490.3, 1e-9},
                    Published{"close_s.1", 8090.7, 1e-9}, Published{"open_s.2", 8390.8, 1e-9},
                    Published{"turned_dirty_s.2", 23089.7, 1e-9},
                    Published{"close_s.2", 23690.3, 1e-9}, Published{"open_s.3", 16785.0, 1e-9},
                    Published{"open_s.4", 36287.0, 1e-9}, Published{"provisioning_s", 240, 1e-9},
                    Published{"startup_min_s", 321, 2e-3}, Published{"startup_max_s", 370, 2e-3},
                    Published{"end_s", 53222, 1e-9}, Published{"connection_min_s", 10, 0.03},
                    Published{"connection_max_s", 50, 0.007},
                    Published{"first_step_min_s", 71, 1e-9},
                    Published{"first_step_max_s", 95, 0.006}));

INSTANTIATE_TEST_SUITE_P(Decisions, ReferenceFigure,
                         testing::Values(Published{"detector_opens", 4, 0},
                                         Published{"detector_open_s.1", 300, 0},
                                         Published{"detector_open_s.2", 8400, 0},
                                         Published{"detector_open_s.3", 16800, 0},
                                         Published{"detector_open_s.4", 36300, 0},
                                         Published{"detector_closes", 4, 0},
                                         Published{"detector_close_s.1", 8100, 0},
                                         Published{"detector_close_s.2", 23700, 0},
                                         Published{"detector_close_s.3", 55200, 0},
                                         Published{"detector_close_s.4", 62100, 0}));

TEST_F(Reference, DetectorDecidesWithinOnePollOfTheExperiment)
{
    constexpr double replay_began_before_the_logs = 13.3;
    constexpr double poll = 10;
    for (auto const& [ours, theirs] :
         std::map<std::string, std::string>{{"detector_open_s.1", "open_s.1"},
                                            {"detector_open_s.2", "open_s.2"},
                                            {"detector_open_s.3", "open_s.3"},
                                            {"detector_open_s.4", "open_s.4"},
                                            {"detector_close_s.1", "close_s.1"},
                                            {"detector_close_s.2", "close_s.2"}})
        EXPECT_NEAR(figure(ours) - replay_began_before_the_logs, figure(theirs), poll) << ours;
    EXPECT_GT(figure("detector_close_s.3"), figure("end_s")) << "the experiment ended before";
}

TEST_F(Reference, TextShowsAtLeastNineDigits)
{
    auto const text = published_text(values_);
    for (char const* digits :
         {"1.37949707", "27.0691131", "12.0954268", "37.7219333", "0.96993614", "14.6375054"})
        EXPECT_NE(text.find(digits), std::string::npos) << digits << " is not in\n" << text;
}

TEST_F(Reference, AccountAddsUpToThePublishedFigures)
{
    EXPECT_NEAR(total_of(account_).carbon.value / 1000, figure("co2_kg"), 1e-9);
    EXPECT_NEAR(total_of(account_).energy.value / 1000, figure("energy_kwh"), 1e-9);
    energy::Tally states, rounds, windows;
    for (auto const& site : account_.sites) {
        for (auto const& [state, tally] : site.bill.by_state) states += tally;
        EXPECT_NEAR(site.cumulative.back().carbon.value, site.bill.total.carbon.value, 1e-6)
            << site.label;
    }
    for (auto const& round : account_.rounds) rounds += round.tally;
    for (auto const& window : account_.windows) windows += window.tally;
    EXPECT_NEAR(states.energy.value, total_of(account_).energy.value, 1e-6);
    EXPECT_NEAR(rounds.energy.value, total_of(account_).energy.value, 1e-6);
    EXPECT_NEAR(windows.carbon.value, total_of(account_).carbon.value, 1e-6);
    for (auto const& scenario : account_.always_on)
        EXPECT_NEAR(100 * *account::carbon_ratio(total_of(account_), scenario.range[0]),
                    figure("ratio_percent." + scenario.region), 1e-9);
}

TEST_F(Reference, AccountHoldsWindowsRoundsAndLoss)
{
    EXPECT_EQ(account_.rounds.size(), 38U);
    EXPECT_EQ(account_.commits.joint, 36);
    EXPECT_EQ(account_.windows.size(), 4U);
    EXPECT_NEAR(static_cast<double>(account_.tokens), 12.34e9, 0.01e9);
    EXPECT_NEAR(*goodput(account_), 0.840, 0.001);
    EXPECT_EQ(account_.other_scenarios.at(0).range.size(), 3U) << "pairs of regions";
    EXPECT_NE(report::document(account_, std::nullopt).find("headline"), nullptr);
}

TEST(MinimumSmoothed, StartsAtTheFirstValue)
{
    EXPECT_DOUBLE_EQ(minimum_smoothed({10, 0, 20}, 0.9), 9);
    EXPECT_DOUBLE_EQ(minimum_smoothed({3}, 0.9), 3);
    EXPECT_THROW((void)minimum_smoothed({}, 0.9), std::out_of_range);
}

}  // namespace
}  // namespace curtail::reference
