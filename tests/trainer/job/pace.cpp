// SPDX-License-Identifier: Apache-2.0
// training.step_at_least_s: steps that begin at a limited rate.
#include <gmock/gmock.h>

#include <stop_token>
#include <string>
#include <vector>

#include "small_training.hpp"

namespace curtail::trainer {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ge;

class Pace : public test::SmallTraining {
  protected:
    [[nodiscard]] std::vector<double> step_seconds() const
    {
        std::vector<double> seconds;
        for (auto const& row : metrics()) seconds.push_back(row.number_at("step_s").value());
        return seconds;
    }
    [[nodiscard]] std::vector<std::string> states() const
    {
        std::vector<std::string> states;
        auto const file = runlog::read_events(site_folder() / "events.jsonl");
        if (!file) return states;
        for (auto const& event : file->events)
            if (auto const change = runlog::state_change_in(event)) states.push_back(change->state);
        return states;
    }
};

TEST_F(Pace, AStepThatIsTooShortWaitsAndThePauseBelongsToIt)
{
    configure(1, 4, 1, R"("step_at_least_s": 0.2, )");
    auto const began = monotonic_now();
    ASSERT_TRUE(train(true)) << log_text_;
    EXPECT_GE(monotonic_now() - began, Millis{800});
    EXPECT_THAT(step_seconds(), Each(Ge(0.2)));
    EXPECT_EQ(step_seconds().size(), 4U);
    auto const rows = metrics();
    EXPECT_GE(*rows.back().time_at("time") - *rows.front().time_at("time"), Millis{600});
    EXPECT_THAT(states(), ElementsAre("starting", "training", "draining", "ended"));
}

TEST_F(Pace, ThePauseLowersTheMeasuredRate)
{
    configure(1, 0, 1, R"("step_at_least_s": 0.1, )");
    ASSERT_TRUE(train_until(5)) << log_text_;
    EXPECT_GT(kept().rate, 0);
    EXPECT_LE(kept().rate, 60'000'000)
        << "five steps of 4 blocks in 0.1 s, and one that the stop cut short";
}

// True if the thread `id` of this process sleeps.
bool sleeps(pid_t id)
{
    auto const stat = read_file("/proc/self/task/" + std::to_string(id) + "/stat").value_or("");
    return stat.find(") S ") != std::string::npos;
}

// In its first step, the training loop sleeps only in the pause.
TEST_F(Pace, AStopRequestEndsThePause)
{
    configure(1, 0, 1, R"("step_at_least_s": 60, )");
    MonoTime requested{};
    auto const loop = gettid();
    std::jthread const other([&](std::stop_token const& given_up) {
        auto const paused = [&] {
            return given_up.stop_requested() || (states().size() > 1 && sleeps(loop));
        };
        (void)curtail::test::eventually(paused, Seconds{40});
        requested = monotonic_now();
        ::kill(getpid(), SIGUSR1);
    });
    ASSERT_TRUE(train(true)) << log_text_;
    EXPECT_LT(monotonic_now() - requested, Seconds{10});
    EXPECT_EQ(step_seconds().size(), 1U) << "the step counts";
}

}  // namespace
}  // namespace curtail::trainer
