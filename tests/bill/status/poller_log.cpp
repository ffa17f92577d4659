// SPDX-License-Identifier: Apache-2.0
#include "bill/status/poller_log.hpp"

#include <gtest/gtest.h>

#include "run/runlog/poller_events.hpp"

namespace curtail::status {
namespace {

using runlog::JobChange;
using Type = JobChange::Type;
using windows::Phase;

Time at(int seconds) { return from_unix_ms(1'768'151'100'000) + Seconds(seconds); }

class PollerLog : public testing::Test {
  protected:
    void decide(int second, Phase to)
    {
        events_.push_back(runlog::to_event(
            windows::PhaseChange{at(second), Phase::closed, to, windows::Reason::clean}, at(second),
            "A"));
    }
    void change(int second, Type type, char const* job, char const* state = "")
    {
        JobChange made{type, "w", job, "why", state};
        if (type == Type::failed) made.retry_after = Millis{60'000};
        events_.push_back(runlog::to_event(made, at(second), "A"));
    }
    void hold(int second, bool held)
    {
        events_.push_back(runlog::to_event(
            runlog::HoldChange{held, "failures", "6 failures", {}, {}}, at(second), "A"));
    }
    [[nodiscard]] runlog::PollerSite site() const
    {
        runlog::PollerSite site;
        take_poller_events(site, events_);
        return site;
    }
    std::vector<runlog::Event> events_;
};

TEST_F(PollerLog, LastDecisionIsTheWindow)
{
    EXPECT_EQ(site().window, "");
    decide(1, Phase::open);
    EXPECT_EQ(site().window, "open");
    decide(2, Phase::closing);
    EXPECT_EQ(site().closing_since, at(2));
    decide(3, Phase::closed);
    EXPECT_EQ(site().window, "closed");
    EXPECT_EQ(site().closing_since, std::nullopt);
}

TEST_F(PollerLog, JobIsShownFromItsSubmissionToItsEnd)
{
    change(1, Type::submitted, "7");
    EXPECT_EQ(site().jobs, (std::vector<runlog::PollerJob>{{"7", {}, false}}));
    change(2, Type::started, "7");
    EXPECT_EQ(site().jobs, (std::vector<runlog::PollerJob>{{"7", at(2), false}}));
    change(3, Type::drained, "7");
    EXPECT_EQ(site().jobs, (std::vector<runlog::PollerJob>{{"7", at(2), true}}));
    change(4, Type::submitted, "8");
    change(5, Type::ended, "7");
    EXPECT_EQ(site().jobs, (std::vector<runlog::PollerJob>{{"8", {}, false}}));
    change(6, Type::cancelled, "8");
    EXPECT_TRUE(site().jobs.empty());
}

TEST_F(PollerLog, FailureDelaysTheNextJob)
{
    change(1, Type::submitted, "7");
    change(2, Type::failed, "7", "NODE\x1b_FAIL");
    EXPECT_TRUE(site().jobs.empty());
    EXPECT_EQ(site().failure, "NODE\\x1b_FAIL");
    EXPECT_EQ(site().retry_at, at(62));
}

TEST_F(PollerLog, HoldLastsUntilItsRelease)
{
    hold(1, true);
    EXPECT_EQ(site().hold, "6 failures");
    hold(2, false);
    EXPECT_EQ(site().hold, "");
}

}  // namespace
}  // namespace curtail::status
