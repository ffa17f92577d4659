// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/watch.hpp"

#include <atomic>
#include <thread>

#include "poller/poll/fixture.hpp"
#include "support/eventually.hpp"

namespace curtail::poll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A clock that a test sets, so that a slow machine misses no part of a trace.
class SetClock final : public Clock {
  public:
    [[nodiscard]] Time now() const override { return at(second_); }
    void set(int second) { second_ = second; }

  private:
    std::atomic<int> second_{0};
};

class Watch : public Poll {
  protected:
    // A thread that is started later must not insert into the map.
    Watch() { slurm_["A"], slurm_["B"]; }

    std::jthread start(PollContext context, WatchOptions const& options)
    {
        return std::jthread([this, options, context = std::move(context)]() mutable {
            result_ = watch(std::move(context), options, stop_);
        });
    }
    // Waits until both sites have received this call. If they do not, stops the poller.
    [[nodiscard]] bool both_called(std::string const& what, std::ptrdiff_t times = 1)
    {
        bool const called = test::eventually([&] {
            return std::all_of(slurm_.begin(), slurm_.end(), [&](auto& site) {
                auto const calls = site.second.called();
                return std::count(calls.begin(), calls.end(), what) == times;
            });
        });
        for (int request = 0; !called && request < 2; ++request) stop_.raise();
        return called;
    }

    StopRequest stop_;
    Result<PollResult> result_ = PollResult{};
};

TEST_F(Watch, ReplayEndsWithoutJobs)
{
    auto const clock = std::make_shared<SetClock>();
    auto context = make_context(clock, {500, 50, 50, 500, 500, 500, 50, 50, 50});
    context.trace_end = at(2400);
    {
        auto const poller = start(std::move(context), quick());
        clock->set(600);
        ASSERT_TRUE(both_called("submit"));
        clock->set(1500);
        ASSERT_TRUE(both_called("drain 1"));
        clock->set(2100);
        ASSERT_TRUE(both_called("submit", 2));
        clock->set(2400);
    }
    ASSERT_TRUE(result_) << result_.error().message();
    for (auto const* site : {"A", "B"}) {
        EXPECT_THAT(slurm_[site].called(), ElementsAre("submit", "drain 1", "submit", "drain 2"));
        EXPECT_EQ(slurm_[site].most_running, 1);
    }
    auto const types = event_types("A");
    EXPECT_EQ(std::count(types.begin(), types.end(), "window-open"), 2);
    EXPECT_EQ(std::count(types.begin(), types.end(), "window-close"), 1)
        << "the end of a trace closes no window";
    EXPECT_EQ(std::count(types.begin(), types.end(), "job-ended"), 2);
}

TEST_F(Watch, AnExceptionAtOneSiteEndsNoPoller)
{
    auto const clock = std::make_shared<SetClock>();
    auto context = make_context(clock, {50, 50, 50});
    context.trace_end = at(600);
    std::atomic<int> tries{0};
    slurm_["A"].before_list = [&] {
        if (++tries <= 3) throw std::bad_alloc();
    };
    {
        auto const poller = start(std::move(context), quick());
        ASSERT_TRUE(both_called("submit"));
        clock->set(600);
    }
    EXPECT_GT(tries, 3);
    EXPECT_TRUE(result_) << result_.error().message();
}

TEST_F(Watch, JobThatReceivesNoDrainIsCancelledAtTheEndOfAReplay)
{
    auto const clock = std::make_shared<SetClock>();
    auto context = make_context(clock, {50, 50});
    context.trace_end = at(300);
    context.sites[0].limits.grace = Millis(3'600'000);
    slurm_["A"].loses_drains = true;
    auto options = quick();
    options.patience = Millis(500);
    {
        auto const poller = start(std::move(context), options);
        ASSERT_TRUE(both_called("submit"));
        clock->set(300);
    }
    EXPECT_TRUE(result_) << result_.error().message();
    EXPECT_THAT(slurm_["A"].called(), testing::Contains("cancel 1"));
}

TEST_F(Watch, SiteWithoutAnswerIsReportedAtTheEnd)
{
    auto const clock = std::make_shared<SetClock>();
    auto context = make_context(clock, {50, 50});
    context.trace_end = at(300);
    slurm_["A"].answers = false;
    auto options = quick();
    options.patience = Millis(1'500);
    clock->set(300);
    start(std::move(context), options).join();
    ASSERT_FALSE(result_);
    EXPECT_EQ(result_.error().code, ExitCode::temporary);
    EXPECT_THAT(result_.error().message(), HasSubstr("jobs may be left at A;"));
}

TEST_F(Watch, StopRequestDrainsAndASecondOneCancels)
{
    run_.sites[0].launch.grace = Millis(3'600'000);
    slurm_["A"].ignores_drain = true;
    auto context = make_context(std::make_shared<FixedClock>(at(0)), {50});
    context.sites[0].limits.grace = Millis(3'600'000);
    auto const poller = start(std::move(context), quick());
    ASSERT_TRUE(both_called("submit"));
    stop_.raise();
    ASSERT_TRUE(both_called("drain 1"));
    EXPECT_THAT(slurm_["A"].called(), testing::Not(testing::Contains("cancel 1")));
    stop_.raise();
    EXPECT_TRUE(test::eventually([&] {
        auto const calls = slurm_["A"].called();
        return std::find(calls.begin(), calls.end(), "cancel 1") != calls.end();
    }));
}

TEST_F(Watch, StoppedLivePollerKeepsItsJobs)
{
    auto options = quick();
    options.drain_on_exit = false;
    {
        auto const poller = start(make_context(std::make_shared<FixedClock>(at(0)), {50}), options);
        ASSERT_TRUE(both_called("submit"));
        stop_.raise();
    }
    ASSERT_TRUE(result_) << result_.error().message();
    EXPECT_THAT(slurm_["A"].called(), ElementsAre("submit"));
}

}  // namespace
}  // namespace curtail::poll
