// SPDX-License-Identifier: Apache-2.0
// Training stops when the poller's permission ends.
#include "run/permission/permission.hpp"

#include <gmock/gmock.h>

#include "base/core/files.hpp"
#include "run/runlog/event.hpp"
#include "run/runlog/metrics.hpp"
#include "trainer/job/small_training.hpp"

namespace curtail::trainer::test {
namespace {

using permission::Requirement;

class PermissionTraining : public SmallTraining {
  protected:
    Result<void> train_with(Requirement requirement)
    {
        StopSignal const stop;
        auto const ranks = comm::single_process();
        TrainOptions options{run_file(), {"A"}, "7", false, 1};
        options.requirement = requirement;
        return train_site(options, *ranks, stop, log());
    }
    // Returns the end of the permission.
    Time permit(Millis lifetime, std::int64_t serial = 1,
                std::string const& why = "the window is open")
    {
        auto const now = SystemClock{}.now();
        EXPECT_TRUE(permission::write_permission(
            site_folder(), {run_.run, {"A"}, serial, now, lifetime, now + lifetime, why}));
        return now + lifetime;
    }
    [[nodiscard]] std::vector<runlog::StepMetrics> steps() const
    {
        auto const text = read_file_if_exists(site_folder() / "metrics.jsonl").value();
        return runlog::parse_metrics(text.value_or("")).steps;
    }
    // Text of the last event of this type.
    [[nodiscard]] std::string last_event(std::string const& type) const
    {
        std::string text;
        auto const file = runlog::read_events(site_folder() / "events.jsonl").value();
        for (auto const& event : file.events)
            if (event.type == type) text = json::to_string(event.details);
        return text;
    }
};

TEST_F(PermissionTraining, NoStepStartsAfterTheEndOfThePermission)
{
    configure(1, 0, 1000);
    auto const end = permit(Millis{1'500});
    ASSERT_TRUE(train_with(Requirement::always));
    ASSERT_GT(steps().size(), 2);
    auto const made = steps();
    for (auto const& step : made)
        EXPECT_LE(step.time - std::chrono::floor<Millis>(step.duration), end + Millis{1});
    EXPECT_THAT(last_event("trainer-exit"), testing::HasSubstr(R"("cause":"permission")"));
    EXPECT_THAT(last_event("stop-requested"), testing::HasSubstr("is the poller running?"));
    EXPECT_THAT(last_event("left"), testing::HasSubstr("commit"))
        << "it contributes before it exits";
}

TEST_F(PermissionTraining, AWithdrawnPermissionStopsTheTraining)
{
    configure(1, 0, 1000);
    (void)permit(Seconds{100});
    std::jthread const poller([this](std::stop_token const& given_up) {
        (void)curtail::test::eventually(
            [&] { return given_up.stop_requested() || metrics().size() >= 3; }, Seconds{40});
        (void)permit(Millis{0}, 2, "the window is closed");
    });
    ASSERT_TRUE(train_with(Requirement::always));
    EXPECT_THAT(last_event("stop-requested"),
                testing::HasSubstr("the poller ended the permission: 'the window is closed'"));
}

TEST_F(PermissionTraining, AJobOfThePollerMakesNoStepWithoutAPermission)
{
    ASSERT_TRUE(train_with(Requirement::always));
    EXPECT_TRUE(steps().empty());
}

TEST_F(PermissionTraining, AJobByHandTrainsWhereNoPollerHasServedTheSite)
{
    ASSERT_TRUE(train_with(Requirement::if_served));
    EXPECT_FALSE(steps().empty());
    EXPECT_THAT(log_text_, testing::HasSubstr("no poller serves this site"));
}

TEST_F(PermissionTraining, AJobWithoutPollerIgnoresAnEndedPermission)
{
    (void)permit(Millis{0});
    ASSERT_TRUE(train_with(Requirement::never));
    EXPECT_FALSE(steps().empty());
    EXPECT_THAT(log_text_, testing::HasSubstr("training without the poller"));
}

TEST_F(PermissionTraining, EachStepRecordsTheMonotonicTime)
{
    ASSERT_TRUE(train_with(Requirement::if_served));
    ASSERT_GT(steps().size(), 1);
    for (std::size_t i = 1; i < steps().size(); ++i)
        EXPECT_GE(steps()[i].monotonic, steps()[i - 1].monotonic);
}

}  // namespace
}  // namespace curtail::trainer::test
