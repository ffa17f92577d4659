// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/start_timer.hpp"

#include <gmock/gmock.h>

#include "base/core/clock.hpp"

namespace curtail::trainer {
namespace {

using testing::MatchesRegex;

TEST(StartTimer, AddsUpItsPhasesUntilTheFirstStep)
{
    StartTimer timer(FractionalSeconds{0.25});
    timer.end("inputs");
    EXPECT_TRUE(timer.done("first_step"));
    EXPECT_FALSE(timer.done("first_step"));
    timer.end("later");
    EXPECT_GE(timer.total().count(), 0.25);
    EXPECT_THAT(timer.to_text(),
                MatchesRegex("0\\.2. s \\(process 0\\.25, inputs 0\\..., first_step 0\\...\\)"));
    auto const json = timer.to_json();
    EXPECT_EQ(json.number_at("process"), 0.25);
    EXPECT_TRUE(json.number_at("first_step"));
    EXPECT_FALSE(json.number_at("later"));
}

TEST(StartTimer, BeginsWithTheProcess)
{
    auto const now = monotonic_now();
    while (monotonic_now() - now < Millis{30}) {}  // the system counts in ticks of 10 ms
    StartTimer const timer;
    EXPECT_GE(timer.total().count(), 0.02);
    EXPECT_LT(timer.total().count(), 60.0);
}

}  // namespace
}  // namespace curtail::trainer
