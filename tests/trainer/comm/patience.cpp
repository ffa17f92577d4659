// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/patience.hpp"

#include <gtest/gtest.h>

namespace curtail::comm {
namespace {

MonoTime at(std::int64_t ms) { return MonoTime{Millis{ms}}; }

TEST(WaitTimer, EndsAtTheLimit)
{
    Patience const patience{Millis{2500}, {}};
    WaitTimer timer(patience, at(10'000));
    EXPECT_FALSE(timer.over(at(10'900)));
    EXPECT_FALSE(timer.over(at(11'800)));
    EXPECT_FALSE(timer.over(at(12'499)));
    EXPECT_TRUE(timer.over(at(12'500)));
}

TEST(WaitTimer, CountsAtMostASecondBetweenTwoCalls)
{
    Patience const patience{Millis{2500}, {}};
    WaitTimer timer(patience, at(0));
    EXPECT_FALSE(timer.over(at(60'000)));
    EXPECT_EQ(timer.waited(), Millis{1000});
    EXPECT_FALSE(timer.over(at(120'000)));
    EXPECT_FALSE(timer.over(at(120'499)));
    EXPECT_TRUE(timer.over(at(120'500)));
}

TEST(WaitTimer, AStopReplacesTheLimit)
{
    std::optional<MonoTime> end;
    Patience const patience{Millis{2000}, [&] { return end; }};
    WaitTimer timer(patience, at(0));
    EXPECT_FALSE(timer.over(at(900)));
    end = at(5000);
    EXPECT_FALSE(timer.over(at(1800)));
    EXPECT_FALSE(timer.over(at(2700)));
    EXPECT_TRUE(timer.over(at(5000)));
}

}  // namespace
}  // namespace curtail::comm
