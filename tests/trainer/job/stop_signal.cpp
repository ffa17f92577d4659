// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/stop_signal.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include "base/core/clock.hpp"
#include "support/eventually.hpp"

namespace curtail::trainer {
namespace {

TEST(StopSignal, ReportsTheTimeOfTheFirstSignal)
{
    StopSignal const stop;
    stop.catch_signals();
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

TEST(StopSignal, EndsTheProcessBeforeThereIsWork)
{
    for (int const number : {SIGUSR1, SIGUSR2, SIGTERM}) {
        EXPECT_EXIT(
            {
                signal(number, SIG_IGN);
                StopSignal const stop;
                raise(number);
            },
            testing::KilledBySignal(number), "");
        // It was pending while libraries were loaded.
        EXPECT_EXIT(
            {
                sigset_t set;
                sigemptyset(&set);
                sigaddset(&set, number);
                pthread_sigmask(SIG_BLOCK, &set, nullptr);
                raise(number);
                StopSignal const stop;
            },
            testing::KilledBySignal(number), "");
    }
}

TEST(StopSignal, ASecondInterruptEndsTheProcess)
{
    EXPECT_EXIT(
        {
            StopSignal const stop;
            stop.catch_signals();
            raise(SIGINT);
            if (stop.raised()) raise(SIGINT);
        },
        testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignal, NamesTheFirstRequest)
{
    for (auto const& [number, cause] :
         {std::pair(SIGUSR1, StopCause::drain), std::pair(SIGTERM, StopCause::terminate),
          std::pair(SIGINT, StopCause::interrupt)}) {
        StopSignal const stop;
        stop.catch_signals();
        ASSERT_EQ(raise(number), 0);
        stop.request(StopCause::permission);
        EXPECT_EQ(stop.cause(), cause);
    }
    StopSignal const stop;
    stop.catch_signals();
    stop.request(StopCause::permission);
    EXPECT_EQ(stop.cause(), StopCause::permission);
}

TEST(StopSignal, ATermLeavesAShareOfKillWait)
{
    StopSignal const stop;
    stop.catch_signals();
    StopTimes const times{Seconds{100}, Seconds{30}};
    EXPECT_FALSE(stop_deadline(stop, times, StopPoint::transfers_begin));
    ASSERT_EQ(raise(SIGUSR1), 0);
    EXPECT_EQ(stop_deadline(stop, times, StopPoint::transfers_begin),
              *stop.raised_at() + Seconds{80});
    ASSERT_EQ(raise(SIGTERM), 0);
    EXPECT_EQ(stop_deadline(stop, times, StopPoint::transfers_begin),
              *stop.terminated_at() + Seconds{24});
    EXPECT_EQ(stop_deadline(stop, {Seconds{100}, {}}, StopPoint::transfers_begin),
              *stop.raised_at() + Seconds{80});
}

TEST(StopSignal, IsClearInEachInstance)
{
    {
        StopSignal const stop;
        stop.catch_signals();
        ASSERT_EQ(raise(SIGUSR1), 0);
        EXPECT_TRUE(stop.raised());
    }
    EXPECT_FALSE(StopSignal{}.raised());
}

}  // namespace
}  // namespace curtail::trainer
