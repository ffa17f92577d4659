// SPDX-License-Identifier: Apache-2.0
#include "trainer/rounds/answer_in_time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace curtail::trainer {
namespace {

using testing::HasSubstr;

StopDeadline const never = [] { return std::optional<MonoTime>{}; };

Result<int> answer(Millis limit, StopDeadline const& stop_at,
                   std::function<Result<int>(CallLimits const&)> work)
{
    return answer_in_time<int>(limit, stop_at, std::move(work));
}

// Work that hangs, as a file server that does not answer, until the test ends.
class Hangs {
  public:
    ~Hangs()
    {
        *released_ = true;
        released_->notify_all();
    }
    [[nodiscard]] std::function<Result<int>(CallLimits const&)> work() const
    {
        return [released = released_](CallLimits const&) -> Result<int> {
            released->wait(false);
            return 1;
        };
    }

  private:
    std::shared_ptr<std::atomic<bool>> released_{std::make_shared<std::atomic<bool>>(false)};
};

TEST(AnswerInTime, ReturnsTheResultAndTheError)
{
    EXPECT_EQ(answer(Seconds{20}, never, [](CallLimits const&) { return 7; }).value(), 7);
    auto const failed = answer(Seconds{20}, never, [](CallLimits const&) -> Result<int> {
        return fail(ExitCode::io, "cannot read run.json", "broken disk");
    });
    EXPECT_EQ(failed.error().code, ExitCode::io);
    EXPECT_THROW(
        (void)answer(Seconds{20}, never,
                     [](CallLimits const&) -> Result<int> { throw std::runtime_error("x"); }),
        std::runtime_error);
}

TEST(AnswerInTime, AbandonsWorkThatHangs)
{
    Hangs const hangs;
    auto const failed = answer(Millis{100}, never, hangs.work());
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ExitCode::temporary);
    EXPECT_THAT(failed.error().message(), HasSubstr("no answer within 0.1 s"));
}

TEST(AnswerInTime, AStopRequestEndsTheWait)
{
    Hangs const hangs;
    auto const soon = monotonic_now() + Millis{10};
    auto const failed = answer(
        std::chrono::hours{1}, [&] { return std::optional(soon); }, hangs.work());
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message(), HasSubstr("no answer before the job must stop"));
}

// The other ranks may be gone, for example.
TEST(AnswerInTime, AnExceptionOfTheDeadlineReachesTheCaller)
{
    Hangs const hangs;
    StopDeadline const broken = []() -> std::optional<MonoTime> { throw std::runtime_error("x"); };
    EXPECT_THROW((void)answer(Seconds{20}, broken, hangs.work()), std::runtime_error);
}

// A network store fails by itself when its CallLimits are over, and says why.
TEST(AnswerInTime, CancelsWorkThatHeedsItsCall)
{
    auto const failed = answer(Millis{10}, never, [](CallLimits const& call) -> Result<int> {
        while (!call.cancel.stop_requested()) std::this_thread::yield();
        return fail(ExitCode::temporary, "cannot read run.json", "cancelled");
    });
    EXPECT_THAT(failed.error().message(), HasSubstr("cancelled"));
}

}  // namespace
}  // namespace curtail::trainer
