// SPDX-License-Identifier: Apache-2.0
#include "base/core/abandonable.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "base/core/units.hpp"
#include "support/slow_to_end.hpp"

namespace curtail {
namespace {

constexpr Seconds long_enough{40};

MonoTime soon() { return monotonic_now() + Millis{20}; }

TEST(AbandonableThreads, WithoutWorkHaveEnded)
{
    EXPECT_TRUE(AbandonableThreads().wait(monotonic_now()));
}

TEST(AbandonableThreads, WorkAtTheSameTimeUntilAllHaveEnded)
{
    AbandonableThreads threads;
    std::promise<void> release;
    auto const released = release.get_future().share();
    std::atomic<int> ended{0};
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(threads.start([&ended, released] {
            released.wait();
            ++ended;
        }));
    EXPECT_FALSE(threads.wait(soon()));
    release.set_value();
    EXPECT_TRUE(threads.wait(monotonic_now() + long_enough));
    EXPECT_EQ(ended, 3);
    ASSERT_TRUE(threads.start([&ended] { ++ended; }));
    EXPECT_TRUE(threads.wait(monotonic_now() + long_enough));
    EXPECT_EQ(ended, 4);
}

TEST(AbandonableThreads, DestroyTheWorkBeforeItHasEnded)
{
    AbandonableThreads threads;
    std::atomic<bool> ended{false};
    ASSERT_TRUE(threads.start([owned = std::make_shared<test::SlowToEnd>(ended)] {}));
    EXPECT_TRUE(threads.wait(monotonic_now() + long_enough));
    EXPECT_TRUE(ended);
}

TEST(AbandonableThreads, AreJoinedIfTheyHaveEnded)
{
    std::atomic<bool> ended{false};
    {
        AbandonableThreads threads;
        ASSERT_TRUE(
            threads.start([&] { thread_local test::SlowToEnd const library_state(ended); }));
        ASSERT_TRUE(threads.wait(monotonic_now() + long_enough));
    }
    EXPECT_TRUE(ended);
}

TEST(AbandonableThreads, AreAbandonedIfTheyHang)
{
    std::promise<void> release;
    auto const ended = std::make_shared<std::promise<void>>();
    auto const begun = monotonic_now();
    {
        AbandonableThreads threads;
        ASSERT_TRUE(threads.start([ended, released = release.get_future().share()] {
            released.wait();
            ended->set_value();
        }));
        EXPECT_FALSE(threads.wait(soon()));
    }
    EXPECT_LT(monotonic_now() - begun, Seconds{15});
    release.set_value();
    EXPECT_EQ(ended->get_future().wait_for(long_enough), std::future_status::ready);
}

// The last owner of an object may be one of the object's own threads.
TEST(AbandonableThreads, MayDestroyTheirOwner)
{
    auto owner = std::make_shared<AbandonableThreads>();
    std::promise<void> release;
    auto const ended = std::make_shared<std::promise<void>>();
    std::weak_ptr<AbandonableThreads> const seen = owner;
    ASSERT_TRUE(owner->start([owner, ended, released = release.get_future().share()] {
        released.wait();
        ended->set_value();
    }));
    owner.reset();
    release.set_value();
    ASSERT_EQ(ended->get_future().wait_for(long_enough), std::future_status::ready);
    auto const until = monotonic_now() + long_enough;
    while (!seen.expired() && monotonic_now() < until) std::this_thread::yield();
    EXPECT_TRUE(seen.expired());
}

}  // namespace
}  // namespace curtail
