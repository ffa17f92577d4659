// SPDX-License-Identifier: Apache-2.0
#include "train/stop_signal.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include "core/clock.hpp"
#include "support/eventually.hpp"

namespace curtail::train {
namespace {

TEST(StopSignal, ReportsTheTimeOfTheFirstSignal)
{
    StopSignal const stop;
    EXPECT_FALSE(stop.raised_at());
    auto const before = monotonic_now();
    ASSERT_EQ(raise(SIGUSR1), 0);
    auto const requested = stop.raised_at();
    ASSERT_TRUE(requested);
    EXPECT_GE(*requested, before);
    EXPECT_LE(*requested, monotonic_now());
    ASSERT_TRUE(test::eventually([&] { return monotonic_now() > *requested; }, Seconds{5}));
    ASSERT_EQ(raise(SIGTERM), 0);
    EXPECT_EQ(stop.raised_at(), requested) << "a repeated drain gives no more time";
}

TEST(StopSignal, IsClearInEachInstance)
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
