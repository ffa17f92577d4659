// SPDX-License-Identifier: Apache-2.0
// The report shows metered energy, and that of Slurm's accounting, next to the modelled energy.
#include <fmt/format.h>

#include "bill/account/audit.hpp"
#include "bill/account/checked_run.hpp"

namespace curtail::account {
namespace {

using energy::Bound;
using test::at;
using test::step;
using testing::HasSubstr;

// EAST's steps have 1 kW by its meters; the model has 2 kW. It trains for 1.5 h.
class Meters : public test::CheckedRun {
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
    files.sites[0].metrics.insert(files.sites[0].metrics.begin(), step(0.5, {900}, 0, 0));
    EXPECT_THAT(line(), HasSubstr("1.50 kWh in 5400 s of training, 1.00 kW on average (the model "
                                  "has 2.00 kW); the bill does not use it"));
    EXPECT_DOUBLE_EQ(metered, kwh());
}

TEST_F(Meters, ReplaceTheModelIfTheSiteFileSaysWhatTheyCover)
{
    files.sites[0].metrics.insert(files.sites[0].metrics.begin(), step(0.5, {900}, 0, 0));
    auto const modelled = kwh();
    files.run.sites[0].meter = config::Meter{true, {}};
    EXPECT_DOUBLE_EQ(kwh(), modelled - 1.5);
    EXPECT_THAT(titles(), testing::ElementsAre("Meter")) << "a fact";
    EXPECT_TRUE(has_note("is 1 kW on average, and the site file has 2 kW, from 2026-"));
    EXPECT_EQ(bound(), Bound::exact);
    EXPECT_THAT(line(), HasSubstr("the bill uses it, it covers the node"));
    files.run.sites[0].meter = config::Meter{false, Watts{300}};
    EXPECT_DOUBLE_EQ(kwh(), modelled - 1.5 + 0.45);
    files.run.sites[0].power->pue = 2;
    EXPECT_DOUBLE_EQ(kwh(), 2 * (modelled - 1.5 + 0.45));
}

TEST_F(Meters, OfAReplayAreThoseOfOtherHardware)
{
    files.sites[0].metrics.insert(files.sites[0].metrics.begin(), step(0.5, {900}, 0, 0));
    files.clock = TimeScale{at(0), at(0), 2};
    auto const modelled = kwh();
    files.run.sites[0].meter = config::Meter{true, {}};
    EXPECT_DOUBLE_EQ(kwh(), modelled);
    EXPECT_EQ(line(), "");
}

// A meter that cannot be right is a note, and a doubt if the bill uses it.
TEST_F(Meters, ThatCannotBeRightAreSaidToBe)
{
    struct Case {
        double joules_per_s;
        char const* what;
    };
    auto& steps = files.sites[0].metrics;
    steps.insert(steps.begin(), step(0.5, {900}, 0, 0));
    for (auto const& [power, what] :
         {Case{0, "is 0"}, Case{100, "is 0.1 kW on average"}, Case{9000, "is 9 kW on average"}}) {
        for (auto& step : steps) step.metered_j = power * step.duration.count();
        for (bool const is_used : {false, true}) {
            files.run.sites[0].meter.reset();
            if (is_used) files.run.sites[0].meter = config::Meter{true, {}};
            EXPECT_THAT(titles(), testing::ElementsAre("Meter")) << what;
            EXPECT_TRUE(has_note("EAST: energy_j in metrics.jsonl " + std::string(what))) << what;
            EXPECT_EQ(bound(), is_used ? Bound::uncertain : Bound::exact) << what;
        }
    }
}

TEST_F(Meters, ThatAreConstantOrNegativeAreSaidToBe)
{
    auto& steps = files.sites[0].metrics;
    steps.clear();
    for (int i = 0; i < 60; ++i) steps.push_back(step(0.5 + (i + 1) / 40.0, {900}, 90, i + 1));
    for (auto& step : steps) step.metered_j = 180'000;
    EXPECT_THAT(titles(), testing::ElementsAre("Meter"));
    EXPECT_TRUE(has_note("is 180000 J in each step"));
    for (std::size_t i = 0; i < steps.size(); ++i)
        steps[i].metered_j = 180'000 + static_cast<double>(i);
    EXPECT_THAT(titles(), testing::IsEmpty());
    steps[7].metered_j = -5;
    EXPECT_THAT(titles(), testing::ElementsAre("Meter"));
    EXPECT_TRUE(has_note("is negative in 1 steps"));
}

TEST_F(Meters, ThatAreNamedAndMissingHaveANote)
{
    for (auto& step : files.sites[0].metrics) step.metered_j.reset();
    files.run.sites[0].meter = config::Meter{true, {}};
    EXPECT_THAT(titles(), testing::ElementsAre("Meter"));
    EXPECT_TRUE(has_note("too few steps of metrics.jsonl have it"));
    EXPECT_EQ(bound(), Bound::exact);
}

}  // namespace
}  // namespace curtail::account
