// SPDX-License-Identifier: Apache-2.0
#include "run/energy/bill.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace curtail::energy {
namespace {

Time at(double seconds) { return Time{} + std::chrono::round<Millis>(FractionalSeconds(seconds)); }

constexpr Power node{Watts{468}, Watts{2'024}};

Billings billed(IntensitySeries const& intensity, std::optional<Power> const& power = node)
{
    return {{{Time::min(), Time::max()}, power, GramsPerKwh{100}, intensity}};
}

IntensityRule const two_hours{Seconds{7200}};

TEST(Tally, IntegratesHeldSamplesExactly)
{
    // 1 kW for an hour: 15 min of 40 g/kWh, 20 min of 400, 5 min unknown, 20 min of 80.
    IntensitySeries const steps{{{at(0), GramsPerKwh{40}, Seconds{900}},
                                 {at(900), GramsPerKwh{400}, Seconds{900}},
                                 {at(2400), GramsPerKwh{80}, Seconds{900}}},
                                {Seconds{1200}}};
    auto tally = integrate(Watts{1000}, {at(0), at(3600)}, steps, GramsPerKwh{100});
    EXPECT_NEAR(tally.unknown.value, 1000.0 / 12, 1e-9) << "from 900 s + 1200 s to 2400 s";
    EXPECT_NEAR(tally.carbon.value, 10 + 400.0 / 3 + 80.0 / 3, 1e-9);
    EXPECT_NEAR(tally.clean.value, 250 + 1000.0 / 3, 1e-9);
}

TEST(Tally, CutsAtTheThreshold)
{
    IntensitySeries const steps{{{at(0), GramsPerKwh{50}}, {at(900), GramsPerKwh{250}}}, two_hours};
    auto const tally = integrate(Watts{1000}, {at(0), at(3600)}, steps, GramsPerKwh{100});
    EXPECT_DOUBLE_EQ(tally.energy.value, 1000);
    EXPECT_DOUBLE_EQ(tally.carbon.value, 200);
    EXPECT_DOUBLE_EQ(tally.clean.value, 250);
    EXPECT_DOUBLE_EQ(tally.carbon_dirty.value, 0.75 * 250);
    EXPECT_DOUBLE_EQ(*tally.clean_share(), 0.25);
    EXPECT_DOUBLE_EQ(tally.mean_intensity()->value, 200);
}

TEST(Tally, EnergyWithoutSignalIsUnknownAndAddsNoCarbon)
{
    IntensitySeries const gap{{{at(0), GramsPerKwh{50}},
                               {at(300), std::nullopt},
                               {at(600), GramsPerKwh{50}},
                               {at(900), std::nullopt}},
                              two_hours};
    auto const tally = integrate(Watts{1000}, {at(0), at(1200)}, gap, GramsPerKwh{100});
    EXPECT_NEAR(tally.energy.value, 1000.0 / 3, 1e-9);
    EXPECT_NEAR(tally.unknown.value, 600.0 / 3.6, 1e-9);
    EXPECT_NEAR(tally.carbon.value, 600.0 / 3600 * 50, 1e-9);
    EXPECT_NEAR(*tally.clean_share(), 0.5, 1e-12) << "half of it is known to be clean";
}

TEST(Tally, AvoidedEmissionsNetNoFootprint)
{
    IntensitySeries const signal{{{at(0), GramsPerKwh{-80}}, {at(300), GramsPerKwh{50}}},
                                 two_hours};
    auto const tally = integrate(Watts{1000}, {at(0), at(600)}, signal, GramsPerKwh{100});
    EXPECT_NEAR(tally.carbon.value, 300.0 / 3600 * 50, 1e-9);
    EXPECT_NEAR(tally.avoided.value, 300.0 / 3600 * 80, 1e-9);
    EXPECT_NEAR(*tally.clean_share(), 1, 1e-12);
}

TEST(Tally, AnEmptyTallyHasNoShares)
{
    EXPECT_FALSE(Tally{}.clean_share());
    EXPECT_FALSE(Tally{}.mean_intensity());
}

// Cuts random intervals at random places.
void check_cuts(IntensitySeries const& trace, std::mt19937& random)
{
    std::uniform_real_distribution<double> places(-400, 4000);
    for (int i = 0; i < 200; ++i) {
        std::vector<double> ends{places(random), places(random), places(random)};
        std::sort(ends.begin(), ends.end());
        auto const sum = [&](std::size_t from, std::size_t to) {
            return integrate(Watts{500}, {at(ends[from]), at(ends[to])}, trace, GramsPerKwh{100});
        };
        auto const whole = sum(0, 2);
        auto parts = sum(0, 1);
        parts += sum(1, 2);
        EXPECT_NEAR(whole.energy.value, parts.energy.value, 1e-6) << "case " << i;
        EXPECT_NEAR(whole.carbon.value, parts.carbon.value, 1e-6) << "case " << i;
        EXPECT_NEAR(whole.clean.value, parts.clean.value, 1e-6) << "case " << i;
        EXPECT_NEAR(whole.unknown.value, parts.unknown.value, 1e-6) << "case " << i;
    }
}

TEST(Tally, AnyCutOfAnIntervalGivesTheSameSum)
{
    std::mt19937 random(7);
    std::uniform_real_distribution<double> values(0, 300);
    std::vector<SamplePoint> points;
    points.reserve(12);
    for (int i = 0; i < 12; ++i)
        points.push_back(
            {at(i * 300), i == 5 ? std::nullopt : std::optional(GramsPerKwh{values(random)})});
    check_cuts(IntensitySeries{points, {Seconds{250}}}, random);
}

TEST(Bill, SumsByStateAndInsideWindows)
{
    IntensitySeries const flat{{{at(0), GramsPerKwh{50}}, {at(7200), GramsPerKwh{50}}}, two_hours};
    std::vector<StateInterval> const states{{PowerState::starting, {at(0), at(900)}},
                                            {PowerState::training, {at(900), at(4500)}},
                                            {PowerState::draining, {at(4500), at(5400)}}};
    std::vector<Interval> const windows{{at(0), at(2700)}};
    auto const bill = bill_of(states, windows, billed(flat));
    EXPECT_DOUBLE_EQ(bill.by_state.at(PowerState::starting).energy.value, 117);
    EXPECT_DOUBLE_EQ(bill.by_state.at(PowerState::training).energy.value, 2024);
    EXPECT_DOUBLE_EQ(bill.by_state.at(PowerState::draining).energy.value, 117);
    EXPECT_EQ(bill.by_state.count(PowerState::idle), 0U);
    EXPECT_DOUBLE_EQ(bill.total.carbon.value, 2.258 * 50);
    EXPECT_DOUBLE_EQ(bill.inside_windows.value, 117 + 1012);
    EXPECT_DOUBLE_EQ(*bill.inside_share(), 1129.0 / 2258);
}

TEST(Bill, PueMultipliesEnergyAndCarbon)
{
    IntensitySeries const flat{{{at(0), GramsPerKwh{50}}, {at(7200), GramsPerKwh{50}}}, two_hours};
    std::vector<StateInterval> const states{{PowerState::starting, {at(0), at(900)}},
                                            {PowerState::training, {at(900), at(4500)}}};
    std::vector<Interval> const windows{{at(0), at(2700)}};
    auto power = node;
    power.pue = 1.5;
    auto const bill = bill_of(states, windows, billed(flat));
    auto const more = bill_of(states, windows, billed(flat, power));
    EXPECT_DOUBLE_EQ(more.total.energy.value, 1.5 * bill.total.energy.value);
    EXPECT_DOUBLE_EQ(more.total.carbon.value, 1.5 * bill.total.carbon.value);
    EXPECT_DOUBLE_EQ(more.inside_windows.value, 1.5 * bill.inside_windows.value);
    EXPECT_DOUBLE_EQ(always_on({7200}, 4, at(0), billed(flat, power)).tally.carbon.value,
                     1.5 * always_on({7200}, 4, at(0), billed(flat)).tally.carbon.value);
}

TEST(Bill, OfAnUnknownPowerHasNoEnergy)
{
    IntensitySeries const flat{{{at(0), GramsPerKwh{50}}, {at(7200), GramsPerKwh{50}}}, two_hours};
    std::vector<StateInterval> const states{{PowerState::training, {at(0), at(3600)}}};
    auto const bill = bill_of(states, {}, billed(flat, std::nullopt));
    EXPECT_FALSE(bill.total.drawn());
    EXPECT_FALSE(bill.total.known_carbon());
    auto sum = bill.total;
    sum += bill_of(states, {}, billed(flat)).total;
    EXPECT_EQ(sum.drawn(), WattHours{2024});
    EXPECT_EQ(sum.bound, Bound::at_least);
    EXPECT_FALSE(sum.known_carbon()) << "some of the energy is missing";
}

TEST(Bill, CumulativeSeriesEndsAtTheTotal)
{
    IntensitySeries const steps{{{at(0), GramsPerKwh{10}}, {at(2000), GramsPerKwh{400}}},
                                two_hours};
    std::vector<StateInterval> const states{{PowerState::training, {at(130), at(4500)}},
                                            {PowerState::idle, {at(4500), at(5399)}}};
    auto const whole = bill_of(states, {}, billed(steps)).total;
    auto const series = cumulative(states, billed(steps), at(0), Millis{60'000}, 91);
    ASSERT_EQ(series.size(), 91U);
    EXPECT_EQ(series[2], Tally{});
    EXPECT_NEAR(series.back().energy.value, whole.energy.value, 1e-9);
    EXPECT_NEAR(series.back().carbon.value, whole.carbon.value, 1e-9);
}

TEST(AlwaysOn, TrainsTheTokensAtTheRateAndTrainingPower)
{
    IntensitySeries const flat{{{at(0), GramsPerKwh{300}}}, {Seconds{3600}}};
    auto const never_off = always_on(Tokens{7200}, 4, at(0), billed(flat));
    EXPECT_EQ(never_off.when, (Interval{at(0), at(1800)}));
    EXPECT_DOUBLE_EQ(never_off.tally.energy.value, 1012);
    EXPECT_DOUBLE_EQ(never_off.tally.carbon.value, 1.012 * 300);
    auto const longer = always_on(Tokens{28'800}, 4, at(0), billed(flat));
    EXPECT_EQ(longer.when, (Interval{at(0), at(7200)}));
    EXPECT_EQ(longer.observed, (Interval{at(0), at(3600)}))
        << "no value is guessed after the trace";
    EXPECT_EQ(longer.tokens, Tokens{14'400});
    EXPECT_DOUBLE_EQ(longer.tally.energy.value, 2024);
    EXPECT_THROW((void)always_on(Tokens{1}, 0, at(0), billed(flat)), std::invalid_argument);
}

// A change of the settings splits every figure at its time.
TEST(Bill, HasTheSettingsOfEachTime)
{
    IntensitySeries const low{{{at(0), GramsPerKwh{50}}}, {Seconds{36'000}}};
    IntensitySeries const high{{{at(0), GramsPerKwh{200}}}, {Seconds{36'000}}};
    Billings const billings{
        {{Time::min(), at(1800)}, Power{Watts{0}, Watts{1000}, 1}, GramsPerKwh{100}, low},
        {{at(1800), Time::max()}, Power{Watts{0}, Watts{3000}, 2}, GramsPerKwh{300}, high}};
    std::vector<StateInterval> const states{{PowerState::training, {at(0), at(3600)}}};
    std::vector<Interval> const windows{{at(900), at(2700)}};
    auto const bill = bill_of(states, windows, billings);
    EXPECT_DOUBLE_EQ(bill.total.energy.value, 500 + 3000);
    EXPECT_DOUBLE_EQ(bill.total.carbon.value, 25 + 600);
    EXPECT_DOUBLE_EQ(bill.total.clean.value, 3500) << "each time has its own threshold";
    EXPECT_DOUBLE_EQ(bill.inside_windows.value, 250 + 1500);
    auto const series = cumulative(states, billings, at(0), Seconds{1200}, 4);
    EXPECT_NEAR(series[2].energy.value, 500 + 1000, 1e-9);
    EXPECT_NEAR(series[3].carbon.value, 625, 1e-9);
    auto const never_off = always_on(Tokens{14'400}, 4, at(0), billings);
    EXPECT_NEAR(never_off.tally.energy.value, 3500, 1e-9);
    EXPECT_NEAR(never_off.tally.carbon.value, 625, 1e-9);
}

}  // namespace
}  // namespace curtail::energy
