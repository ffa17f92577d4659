// SPDX-License-Identifier: Apache-2.0
#include "train/stop_signal.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include "core/clock.hpp"
#include "support/eventually.hpp"

namespace curtail::train {
namespace {

TEST(StopSignal, SaysWhenTheFirstSignalCame)
{
    StopSignal const stop;
    EXPECT_FALSE(stop.raised_at());
    auto const before = mono_now();
    ASSERT_EQ(raise(SIGUSR1), 0);
    auto const asked = stop.raised_at();
    ASSERT_TRUE(asked);
    EXPECT_GE(*asked, before);
    EXPECT_LE(*asked, mono_now());
    ASSERT_TRUE(test::eventually([&] { return mono_now() > *asked; }, Seconds{5}));
    ASSERT_EQ(raise(SIGTERM), 0);
    EXPECT_EQ(stop.raised_at(), asked) << "a drain that is repeated gives no more time";
}

TEST(StopSignal, BeginsAnewWithEachLife)
{
    {
        StopSignal const stop;
        ASSERT_EQ(raise(SIGUSR1), 0);
        EXPECT_TRUE(stop.raised());
    }
    EXPECT_FALSE(StopSignal{}.raised());
}

}  // namespace
}  // namespace curtail::train
