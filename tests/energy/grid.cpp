// SPDX-License-Identifier: Apache-2.0
#include "energy/grid.hpp"

#include <gtest/gtest.h>

namespace curtail::energy {
namespace {

Time at(double seconds) { return Time{} + std::chrono::round<Millis>(FractionalSeconds(seconds)); }

TEST(Grid, SegmentsBreakAtGapsLongerThanAllowed)
{
    std::vector<Time> const times{at(0), at(10), at(70), at(131), at(140)};
    auto const found = segments(times, Millis{60'000});
    EXPECT_EQ(found, (std::vector<Interval>{{at(0), at(70)}, {at(131), at(140)}}));
    EXPECT_TRUE(segments({}, Millis{60'000}).empty());
}

TEST(Grid, BothEndsBelongToAnIntervalAndTrainingWins)
{
    std::vector<Interval> const provisioned{{at(60), at(240)}};
    std::vector<Interval> const training{{at(120), at(180.5)}};
    auto const power = power_on_grid(provisioned, training, {}, {at(0), Millis{60'000}, 6});
    EXPECT_EQ(power, (std::vector<Watts>{{0}, {468}, {2024}, {2024}, {468}, {0}}));
}

TEST(Grid, TallySamplesIntensityOnTheGridOnly)
{
    IntensitySeries const ramp{{{at(0), GramsPerKwh{0}}, {at(120), GramsPerKwh{200}}},
                               {AccountingRule::linear, {}, PastEnds::nearest}};
    std::vector<Watts> const power{{6000}, {6000}, {6000}, {0}};
    auto const tally = tally_on_grid(power, {at(0), Millis{60'000}, 4}, ramp, GramsPerKwh{100});
    EXPECT_DOUBLE_EQ(tally.energy.value, 300);
    EXPECT_DOUBLE_EQ(tally.carbon.value, 0.1 * (0 + 100 + 200));
    EXPECT_DOUBLE_EQ(tally.clean.value, 100) << "exactly the threshold is not below it";
    EXPECT_DOUBLE_EQ(tally.carbon_dirty.value, 30);
}

}  // namespace
}  // namespace curtail::energy
