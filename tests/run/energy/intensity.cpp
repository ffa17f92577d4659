// SPDX-License-Identifier: Apache-2.0
#include "run/energy/intensity.hpp"

#include <gtest/gtest.h>

namespace curtail::energy {
namespace {

Time at(double seconds) { return Time{} + std::chrono::round<Millis>(FractionalSeconds(seconds)); }

std::vector<SamplePoint> points()
{
    return {{at(0), GramsPerKwh{100}},
            {at(300), GramsPerKwh{400}},
            {at(600), std::nullopt},
            {at(900), GramsPerKwh{50}}};
}

IntensitySeries held(std::vector<SamplePoint> samples, Seconds least_hold)
{
    return IntensitySeries{std::move(samples), {least_hold}};
}

// `time` is in seconds.
void expect_at(IntensitySeries const& series, double time, std::optional<double> grams)
{
    auto const found = series.at(at(time));
    ASSERT_EQ(found.has_value(), grams.has_value()) << "at " << time;
    if (grams) { EXPECT_EQ(found->value, *grams) << "at " << time; }
}

TEST(Hold, KeepsASampleUntilTheNextOneAndSwitchesAtItsPointTime)
{
    auto const series = held(points(), Seconds{600});
    expect_at(series, -1, {});
    expect_at(series, 0, 100);
    expect_at(series, 299.999, 100);
    expect_at(series, 300, 400);
    expect_at(series, 599.999, 400);
    expect_at(series, 600, {});
    expect_at(series, 899.999, {});
    expect_at(series, 900, 50);
}

TEST(Hold, LastsUntilTheEndOfTheHoldIncludedEvenAfterTheLastSample)
{
    auto const series = held(points(), Seconds{600});
    expect_at(series, 1500, 50);
    expect_at(series, 1500.001, {});
}

TEST(Hold, LastsForTheLongerOfThePeriodAndTheLeastHold)
{
    std::vector<SamplePoint> const hourly{{at(0), GramsPerKwh{100}, Seconds{3600}},
                                          {at(7200), GramsPerKwh{200}, Seconds{60}}};
    auto const series = held(hourly, Seconds{600});
    expect_at(series, 3600, 100);
    expect_at(series, 3600.001, {});
    expect_at(series, 7800, 200);
    expect_at(series, 7800.001, {});
}

// Samples at 0 and 240 s with a period of 300 s: the first holds until 240 s only.
TEST(Hold, ALaterSampleWinsWhereThePeriodsOverlap)
{
    auto const series =
        held({{at(0), GramsPerKwh{100}, Seconds{300}}, {at(240), GramsPerKwh{400}, Seconds{300}}},
             Seconds{0});
    expect_at(series, 239.999, 100);
    expect_at(series, 240, 400);
    expect_at(series, 300, 400);
    auto const pieces = series.pieces({at(0), at(540)});
    ASSERT_EQ(pieces.size(), 2U);
    EXPECT_EQ(pieces[0].when, (Interval{at(0), at(240)}));
    EXPECT_EQ(pieces[1].when, (Interval{at(240), at(540)}));
}

TEST(Hold, IsUnknownBetweenTheEndOfAHoldAndTheNextSample)
{
    auto const series =
        held({{at(0), GramsPerKwh{100}, Seconds{300}}, {at(900), GramsPerKwh{400}, Seconds{300}}},
             Seconds{0});
    expect_at(series, 300, 100);
    expect_at(series, 300.001, {});
    expect_at(series, 899.999, {});
    auto const pieces = series.pieces({at(-60), at(1500)});
    ASSERT_EQ(pieces.size(), 5U);
    bool const known[] = {false, true, false, true, false};
    double const ends[] = {0, 300, 900, 1200, 1500};
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        EXPECT_EQ(pieces[i].intensity.has_value(), known[i]) << i;
        EXPECT_EQ(pieces[i].when.to, at(ends[i])) << i;
    }
}

TEST(Hold, PastTheEndsIsUnknown)
{
    auto const series = held(points(), Seconds{300});
    EXPECT_FALSE(series.at(at(-1)));
    EXPECT_FALSE(series.at(at(1201)));
    EXPECT_EQ(series.known_until(), at(1200)) << "900 s, and the hold of 300 s";
}

TEST(Hold, IsKnownUntilTheLastSampleWithAValueEnds)
{
    EXPECT_EQ(IntensitySeries({}).known_until(), std::nullopt);
    EXPECT_EQ(IntensitySeries({{at(0), std::nullopt}}).known_until(), std::nullopt);
    std::vector<SamplePoint> const ends_without{{at(0), GramsPerKwh{5}, Seconds{900}},
                                                {at(300), std::nullopt, Seconds{900}}};
    EXPECT_EQ(IntensitySeries(ends_without).known_until(), at(300));
}

TEST(Hold, PiecesCoverAnIntervalWithoutGaps)
{
    auto const series = held(points(), Seconds{300});
    auto const pieces = series.pieces({at(-100), at(1400)});
    ASSERT_EQ(pieces.size(), 6U);
    EXPECT_EQ(pieces.front().when.from, at(-100));
    for (std::size_t i = 1; i < pieces.size(); ++i)
        EXPECT_EQ(pieces[i].when.from, pieces[i - 1].when.to);
    EXPECT_EQ(pieces.back().when.to, at(1400));
    std::optional<GramsPerKwh> const expected[] = {std::nullopt, GramsPerKwh{100}, GramsPerKwh{400},
                                                   std::nullopt, GramsPerKwh{50},  std::nullopt};
    for (std::size_t i = 0; i < pieces.size(); ++i)
        EXPECT_EQ(pieces[i].intensity, expected[i]) << i;
    EXPECT_TRUE(series.pieces({at(5), at(5)}).empty());
}

TEST(Intensity, TimesThatDoNotRiseAreABrokenContract)
{
    EXPECT_THROW(IntensitySeries({{at(5), GramsPerKwh{1}}, {at(5), GramsPerKwh{2}}}),
                 std::invalid_argument);
}

}  // namespace
}  // namespace curtail::energy
