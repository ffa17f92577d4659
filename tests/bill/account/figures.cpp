// SPDX-License-Identifier: Apache-2.0
// The figures that are computed from a whole account. small_run.hpp states its numbers.
#include <gmock/gmock.h>

#include "bill/account/figures.hpp"
#include "bill/account/small_run.hpp"

namespace curtail::account::test {
namespace {

energy::Tally tally(double energy, double clean, double grams)
{
    return {.energy = {energy},
            .clean = {clean},
            .unknown = {},
            .carbon = {grams},
            .carbon_dirty = {grams}};
}

TEST(TotalBill, IsTheSumOfTheSites)
{
    auto const account = account_of(small_run());
    auto const bill = total_bill(account);
    EXPECT_EQ(bill.total, total_of(account));
    EXPECT_NEAR(
        bill.inside_windows.value,
        account.sites[0].bill.inside_windows.value + account.sites[1].bill.inside_windows.value,
        1e-9);
    energy::Tally states;
    for (auto const& [state, part] : bill.by_state) states += part;
    EXPECT_NEAR(states.carbon.value, 474, 1e-9);
}

// Of 100 tokens that site 0 trained on, 25 were refused: 45 s of its 60 s of training count.
TEST(Goodput, LeavesOutWorkThatIsNotInTheModel)
{
    Account account;
    account.sites.resize(2);
    account.sites[0].states = {{"training", {0, 60}}, {"idle", {60, 70}}};
    account.sites[0].trained_tokens = Tokens{100};
    account.sites[0].tokens = Tokens{75};
    account.sites[1].states = {{"training", {0, 20}}, {"draining", {20, 30}}};
    account.sites[1].trained_tokens = Tokens{0};
    EXPECT_DOUBLE_EQ(*goodput(account.sites[0]), 45.0 / 70);
    EXPECT_DOUBLE_EQ(*goodput(account.sites[1]), 0) << "no step was logged";
    EXPECT_DOUBLE_EQ(*goodput(account), 0.45);
}

TEST(Goodput, CountsTheLoggedStepsOfARunWhoseWorkWasRefused)
{
    auto files = small_run();
    auto const before = account_of(files);
    EXPECT_EQ(before.sites[0].trained_tokens, Tokens{3600});
    files.commits.back().contributions[0].included = false;
    files.commits.back().tokens = {3600};
    auto const account = account_of(files);
    EXPECT_EQ(goodput(account.sites[0]), 0);
    EXPECT_EQ(goodput(account.sites[1]), goodput(before.sites[1]));
    EXPECT_GT(*goodput(before.sites[0]), 0.5);
}

TEST(Goodput, IsTrainingTimeOfAllocatedTime)
{
    Account account;
    EXPECT_FALSE(goodput(account)) << "no time is allocated";
    account.sites.resize(2);
    account.sites[0].states = {{"provision", {0, 10}}, {"training", {10, 70}}};
    account.sites[1].states = {{"training", {0, 20}}, {"draining", {20, 30}}};
    EXPECT_DOUBLE_EQ(*goodput(account), 0.8);
}

TEST(RunScenario, HasTheFiguresOfTheRun)
{
    auto const account = account_of(small_run());
    auto const run = run_scenario(account);
    EXPECT_EQ(run.id, "run");
    EXPECT_EQ(run.sites, 2U);
    EXPECT_EQ(run.tokens, account.tokens);
    EXPECT_EQ(run.tally, total_of(account));
    EXPECT_EQ(run.perplexity.has_value(), account.loss.has_value());
}

TEST(ThreeDigits, AreThreeAfterRoundingUpToo)
{
    EXPECT_EQ(three_digits(99.97), "100");
    EXPECT_EQ(three_digits(0.99996), "1.00");
    EXPECT_EQ(three_digits(-9.9951), "-10.0");
    EXPECT_EQ(three_digits(999.7), "1000");
    EXPECT_EQ(three_digits(12'345), "12300");
    EXPECT_EQ(three_digits(0.0470049), "0.0470");
    EXPECT_EQ(three_digits(0), "0");
}

TEST(RunScenario, HasTheHeldOutPerplexityIfItWasEvaluated)
{
    Account account;
    EXPECT_FALSE(run_scenario(account).held_out_perplexity);
    account.held_out = HeldOut{};
    account.held_out->loss = 2;
    EXPECT_DOUBLE_EQ(*run_scenario(account).held_out_perplexity, std::exp(2.0));
}

TEST(AlwaysOnByCarbon, PutsTheLowestFirst)
{
    Account account;
    for (double const grams : {300.0, 100.0, 200.0}) {
        auto& scenario = account.always_on.emplace_back();
        scenario.tally = tally(1000, 0, grams);
        scenario.region = std::to_string(static_cast<int>(grams));
    }
    std::vector<std::string> regions;
    for (auto const& scenario : always_on_by_carbon(account)) regions.push_back(scenario.region);
    EXPECT_THAT(regions, testing::ElementsAre("100", "200", "300"));
}

}  // namespace
}  // namespace curtail::account::test
