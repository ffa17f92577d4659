// SPDX-License-Identifier: Apache-2.0
#include "energy/intensity.hpp"

#include <gtest/gtest.h>

namespace curtail::energy {
namespace {

Time at(double seconds) { return Time{} + std::chrono::round<Millis>(FractionalSeconds(seconds)); }

IntensitySeries series(PastEnds past_ends = PastEnds::unknown)
{
    return IntensitySeries{{{at(0), GramsPerKwh{100}},
                            {at(300), GramsPerKwh{400}},
                            {at(600), std::nullopt},
                            {at(900), GramsPerKwh{50}}},
                           past_ends};
}

TEST(Intensity, IsLinearBetweenSamplesAndExactAtThem)
{
    EXPECT_EQ(series().at(at(0)), GramsPerKwh{100});
    EXPECT_EQ(series().at(at(300)), GramsPerKwh{400});
    EXPECT_DOUBLE_EQ(series().at(at(100))->value, 200);
}

TEST(Intensity, IsUnknownNextToAMissingSample)
{
    for (double s : {301.0, 599.0, 600.0, 601.0, 899.0}) EXPECT_FALSE(series().at(at(s))) << s;
    EXPECT_EQ(series().at(at(900)), GramsPerKwh{50});
}

TEST(Intensity, PastTheEndsIsUnknownUnlessHeld)
{
    EXPECT_FALSE(series().at(at(-1)));
    EXPECT_FALSE(series().at(at(901)));
    EXPECT_EQ(series(PastEnds::hold).at(at(-1000)), GramsPerKwh{100});
    EXPECT_EQ(series(PastEnds::hold).at(at(1e6)), GramsPerKwh{50});
    EXPECT_FALSE(IntensitySeries({}, PastEnds::hold).at(at(0)));
}

TEST(Intensity, HeldPartIsOnlyAfterTheLastSample)
{
    auto const held = series(PastEnds::hold);
    EXPECT_EQ(held.held_after_last({at(0), at(1000)}), (Interval{at(900), at(1000)}));
    EXPECT_EQ(held.held_after_last({at(950), at(1000)}), (Interval{at(950), at(1000)}));
    EXPECT_EQ(held.held_after_last({at(0), at(900)}).length().count(), 0);
    EXPECT_EQ(series().held_after_last({at(0), at(1000)}).length().count(), 0);
    EXPECT_EQ(IntensitySeries({{at(0), std::nullopt}}, PastEnds::hold)
                  .held_after_last({at(0), at(9)})
                  .length()
                  .count(),
              0);
}

TEST(Intensity, PiecesCoverAnIntervalWithoutGaps)
{
    auto const pieces = series(PastEnds::hold).pieces({at(-100), at(1000)});
    ASSERT_EQ(pieces.size(), 5U);
    EXPECT_EQ(pieces.front().when.from, at(-100));
    for (std::size_t i = 1; i < pieces.size(); ++i)
        EXPECT_EQ(pieces[i].when.from, pieces[i - 1].when.to);
    EXPECT_EQ(pieces.back().when.to, at(1000));
    EXPECT_TRUE(pieces[0].known && pieces[1].known && !pieces[2].known && !pieces[3].known &&
                pieces[4].known);
    EXPECT_EQ(pieces[1].end, GramsPerKwh{400});
    EXPECT_TRUE(series().pieces({at(5), at(5)}).empty());
}

TEST(Intensity, TimesThatDoNotRiseAreABrokenContract)
{
    EXPECT_THROW(IntensitySeries({{at(5), GramsPerKwh{1}}, {at(5), GramsPerKwh{2}}}),
                 std::invalid_argument);
}

}  // namespace
}  // namespace curtail::energy
