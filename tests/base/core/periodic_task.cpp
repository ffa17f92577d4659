// SPDX-License-Identifier: Apache-2.0
#include "base/core/periodic_task.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

namespace curtail {
namespace {

// Counts, and lets the test wait for a count.
class Counter {
  public:
    void add()
    {
        std::lock_guard const guard(mutex_);
        ++count_;
        changed_.notify_all();
    }
    bool reaches(int count)
    {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, Seconds{10}, [&] { return count_ >= count; });
    }
    int count()
    {
        std::lock_guard const guard(mutex_);
        return count_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int count_{0};
};

TEST(PeriodicTask, WorksAtOnceAndThenRepeatedly)
{
    auto const counter = std::make_shared<Counter>();
    PeriodicTask const work([counter](CallLimits const&) { counter->add(); }, Millis{1},
                            Millis{1000});
    EXPECT_TRUE(counter->reaches(3));
}

TEST(PeriodicTask, FinishWorksALastTime)
{
    auto const counter = std::make_shared<Counter>();
    PeriodicTask work([counter](CallLimits const&) { counter->add(); }, Seconds{1000},
                      Seconds{1000});
    ASSERT_TRUE(counter->reaches(1));
    EXPECT_TRUE(work.finish(monotonic_now() + Seconds{10}));
    EXPECT_EQ(counter->count(), 2);
    EXPECT_TRUE(work.finish(monotonic_now() + Seconds{10}));
    EXPECT_EQ(counter->count(), 2);
}

TEST(PeriodicTask, LastWorkHasTheTimeOfFinish)
{
    auto const until = std::make_shared<std::optional<MonoTime>>();
    auto const counter = std::make_shared<Counter>();
    PeriodicTask work(
        [=](CallLimits const& call) {
            *until = call.until;
            counter->add();
        },
        Seconds{1000}, Seconds{1000});
    ASSERT_TRUE(counter->reaches(1));
    auto const end = monotonic_now() + Seconds{10};
    ASSERT_TRUE(work.finish(end));
    EXPECT_LT(*until, end) << "a cancelled work needs time to end";
    EXPECT_GE(*until, end - Seconds{1});
}

TEST(PeriodicTask, IsCancelledAtItsEnd)
{
    auto const started = std::make_shared<Counter>();
    auto const ended = std::make_shared<Counter>();
    {
        PeriodicTask const work(
            [=](CallLimits const& call) {
                started->add();
                std::mutex mutex;
                std::unique_lock lock(mutex);
                std::condition_variable_any().wait(lock, call.cancel, [] { return false; });
                ended->add();
            },
            Seconds{1000}, Seconds{1000});
        ASSERT_TRUE(started->reaches(1));
    }
    EXPECT_EQ(ended->count(), 1);
    EXPECT_EQ(started->count(), 1);
}

TEST(PeriodicTask, HangingWorkIsAbandoned)
{
    auto const started = std::make_shared<Counter>();
    auto const released = std::make_shared<Counter>();
    auto const begin = monotonic_now();
    {
        PeriodicTask work(
            [=](CallLimits const&) {
                started->add();
                (void)released->reaches(1);
            },
            Seconds{1000}, Seconds{1000});
        ASSERT_TRUE(started->reaches(1));
        EXPECT_FALSE(work.finish(monotonic_now() + Millis{50}));
    }
    EXPECT_LT(monotonic_now() - begin, Seconds{1}) << "the destructor does not wait again";
    released->add();
}

}  // namespace
}  // namespace curtail
