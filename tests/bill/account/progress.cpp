// SPDX-License-Identifier: Apache-2.0
#include "bill/account/progress.hpp"

#include <gtest/gtest.h>

namespace curtail::account {
namespace {

Time const noon = parse_time("2026-01-11T12:00Z").value();
constexpr double hour = 3600;

// StepWork that ends `end_s` seconds after noon.
StepWork work(double end_s, double duration_s, std::int64_t tokens)
{
    return {noon + std::chrono::round<Millis>(FractionalSeconds(end_s)),
            FractionalSeconds(duration_s),
            {tokens}};
}

double speed(std::vector<StepWork> const& steps) { return speed_of(steps).value().tokens_per_s; }

TEST(Speed, SitesThatTrainAtTheSameTimeAddUp)
{
    EXPECT_DOUBLE_EQ(speed({work(10, 10, 1000)}), 100);
    EXPECT_DOUBLE_EQ(speed({work(10, 10, 1000), work(10, 10, 3000)}), 400);
    EXPECT_DOUBLE_EQ(speed({work(10, 10, 1000), work(15, 10, 500)}), 100) << "15 s of training";
}

TEST(Speed, TheTimeBetweenStepsDoesNotCount)
{
    auto const both = speed_of({work(10, 10, 1000), work(90'000, 10, 3000)});
    ASSERT_TRUE(both);
    EXPECT_DOUBLE_EQ(both->tokens_per_s, 200);
    EXPECT_DOUBLE_EQ(both->measured.count(), 20);
    EXPECT_EQ(both->until, noon + Seconds{90'000});
}

TEST(Speed, IsThatOfTheLastHourOfTraining)
{
    // Half an hour at 5 tokens/s after two hours at 1 token/s, of which half an hour counts.
    auto const late = speed_of({work(20 * hour, hour / 2, 9'000), work(2 * hour, 2 * hour, 7'200)});
    ASSERT_TRUE(late);
    EXPECT_DOUBLE_EQ(late->tokens_per_s, 3);
    EXPECT_DOUBLE_EQ(late->measured.count(), hour);
    EXPECT_DOUBLE_EQ(speed({work(hour, hour, 3'600), work(2 * hour, hour, 7'200)}), 2);
}

TEST(Speed, WithoutTrainingTimeIsUnknown)
{
    EXPECT_FALSE(speed_of({}));
    EXPECT_FALSE(speed_of({work(10, 0, 100)}));
    EXPECT_DOUBLE_EQ(speed({work(10, 10, 100), work(10, 0, 100)}), 10);
}

TEST(TokenProgress, TheTrainingTimeLeftFollowsFromTheSpeed)
{
    TokenProgress progress{{1000}, {250}, {}};
    EXPECT_DOUBLE_EQ(progress.share(), 0.25);
    EXPECT_FALSE(progress.training_left());
    progress.speed = Speed{3, {}, {}};
    EXPECT_DOUBLE_EQ(progress.training_left().value().count(), 250);
    progress.speed->tokens_per_s = 0;
    EXPECT_FALSE(progress.training_left());
    progress.done = progress.target;
    EXPECT_DOUBLE_EQ(progress.training_left().value().count(), 0);
    EXPECT_DOUBLE_EQ(progress.share(), 1);
}

TEST(TokenProgress, LongTrainingIsShownInDays)
{
    EXPECT_EQ(training_text(FractionalSeconds(3.1 * 86'400)), "3.1 days");
    EXPECT_EQ(training_text(FractionalSeconds(47 * hour + 300)), "47h05m");
}

// A step that ends `at_s` after noon; before it, the weights have `progress` tokens.
runlog::StepMetrics step(double at_s, double duration_s, std::int64_t tokens, std::int64_t progress)
{
    runlog::StepMetrics metrics;
    metrics.time = noon + std::chrono::round<Millis>(FractionalSeconds(at_s));
    metrics.duration = FractionalSeconds(duration_s);
    metrics.tokens = {tokens};
    metrics.progress = {progress};
    return metrics;
}

TEST(TrainerProgress, CountsTheMergedWorkOfOtherSites)
{
    TrainerProgress progress;
    Tokens const target{10'000};
    EXPECT_FALSE(progress.now().speed);
    progress.add(step(10, 10, 100, 500), target);
    EXPECT_EQ(progress.now().done, Tokens{600});
    EXPECT_DOUBLE_EQ(progress.now().speed.value().tokens_per_s, 10) << "not the 500 from before";
    progress.add(step(20, 10, 100, 600), target);
    progress.add(step(60, 10, 100, 1'000),
                 target);  // after a merge with 300 tokens of another site
    EXPECT_EQ(progress.now().done, Tokens{1'100});
    EXPECT_DOUBLE_EQ(progress.now().speed.value().tokens_per_s, 20);
    EXPECT_DOUBLE_EQ(progress.now().training_left().value().count(), 445);
    progress.add(step(70, 10, 100, 600), target);  // discarded work
    EXPECT_DOUBLE_EQ(progress.now().speed.value().tokens_per_s, 15);
}

TEST(TrainerProgress, ForgetsWhatIsOlderThanAnHourOfTraining)
{
    TrainerProgress progress;
    Tokens const target{1'000'000};
    std::int64_t done = 0;
    for (int i = 0; i < 20'000; ++i, done += 10) progress.add(step(0.5 * i, 0.5, 10, done), target);
    EXPECT_DOUBLE_EQ(progress.now().speed.value().tokens_per_s, 20);
    for (int i = 0; i < 3'601; ++i, done += 5) progress.add(step(20'000 + i, 1, 5, done), target);
    EXPECT_NEAR(progress.now().speed.value().tokens_per_s, 5, 0.02);
}

}  // namespace
}  // namespace curtail::account
