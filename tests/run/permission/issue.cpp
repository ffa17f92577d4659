// SPDX-License-Identifier: Apache-2.0
#include "run/permission/issue.hpp"

#include <gtest/gtest.h>

namespace curtail::permission {
namespace {

RunId const run{"demo"};
SiteId const site{"SPP_TX"};
IssuePolicy const policy{Seconds{60}, Seconds{720}};
Verdict const open{true, {}, "the window is open"};
Verdict const closed{false, {}, "the window is closed"};
Time const noon = from_unix_ms(1'768'132'800'000);

std::optional<Permission> next(std::optional<Permission> const& present, Verdict const& verdict,
                               Time now)
{
    return renew(present, run, site, verdict, policy, now);
}

TEST(PermissionIssue, DefaultLifetimeIsTwoPollsAndTheCloseDelay)
{
    EXPECT_EQ(default_lifetime(Seconds{60}, Seconds{600}), Seconds{720});
    EXPECT_EQ(default_lifetime(Seconds{1}, Seconds{2}), Seconds{30});
}

TEST(PermissionIssue, AnOpenWindowPermitsTheWholeLifetime)
{
    auto const issued = next({}, open, noon);
    ASSERT_TRUE(issued);
    EXPECT_EQ(issued->issued, noon);
    EXPECT_EQ(issued->lifetime, policy.lifetime);
    EXPECT_EQ(issued->until, noon + policy.lifetime);
    EXPECT_EQ(issued->why, open.why);
}

TEST(PermissionIssue, ASerialThatNoPollerCanHaveWrittenIsReplaced)
{
    auto forged = *next({}, open, noon);
    forged.serial = largest_serial;
    auto const issued = next(forged, open, noon);
    ASSERT_TRUE(issued);
    EXPECT_EQ(issued->serial, to_unix_ms(noon));
}

TEST(PermissionIssue, AClosingWindowPermitsTwoPollsAfterItsClose)
{
    auto closing = open;
    closing.closes = noon + Seconds{100};
    auto const issued = next({}, closing, noon);
    ASSERT_TRUE(issued);
    EXPECT_EQ(issued->until, noon + Seconds{220});
    EXPECT_EQ(issued->lifetime, Seconds{220});
}

TEST(PermissionIssue, AClosingWindowNeverPermitsMoreThanTheLifetime)
{
    auto closing = open;
    closing.closes = noon + Seconds{1000};
    EXPECT_EQ(next({}, closing, noon)->until, noon + policy.lifetime);
}

TEST(PermissionIssue, AWindowThatShouldHaveClosedLongAgoPermitsNothing)
{
    auto closing = open;
    closing.closes = noon - Seconds{500};
    EXPECT_EQ(next({}, closing, noon)->lifetime, Seconds{0});
}

TEST(PermissionIssue, ClosingTheWindowEndsThePermissionAtOnce)
{
    auto const before = next({}, open, noon);
    auto const after = next(before, closed, noon + Seconds{1});
    ASSERT_TRUE(after);
    EXPECT_TRUE(after->is_withdrawn());
    EXPECT_EQ(after->until, noon + Seconds{1});
    EXPECT_GT(after->serial, before->serial);
}

TEST(PermissionIssue, APermissionIsRenewedAfterHalfAPollPeriod)
{
    auto const before = next({}, open, noon);
    EXPECT_FALSE(next(before, open, noon + Seconds{29}));
    EXPECT_TRUE(next(before, open, noon + Seconds{30}));
}

TEST(PermissionIssue, AnEarlierEndReplacesThePermissionAtOnce)
{
    auto const before = next({}, open, noon);
    auto closing = open;
    closing.closes = noon + Seconds{100};
    auto const after = next(before, closing, noon + Seconds{1});
    ASSERT_TRUE(after);
    EXPECT_EQ(after->until, noon + Seconds{220});
}

TEST(PermissionIssue, AWithdrawnPermissionStaysUntilTheVerdictChanges)
{
    auto const before = next({}, closed, noon);
    EXPECT_FALSE(next(before, closed, noon + Seconds{3600}));
    EXPECT_TRUE(next(before, {false, {}, "paused: maintenance"}, noon + Seconds{3600}));
    EXPECT_TRUE(next(before, open, noon + Seconds{3600}));
}

TEST(PermissionIssue, TheSerialIncreasesAlthoughTheClockWasSetBack)
{
    auto const before = next({}, open, noon);
    auto const after = next(before, open, noon - Seconds{3600});
    ASSERT_TRUE(after);
    EXPECT_GT(after->serial, before->serial);
}

TEST(PermissionIssue, TheSerialIncreasesAlthoughTheFileWasLost)
{
    auto const before = next({}, open, noon);
    EXPECT_GT(next({}, open, noon + Seconds{60})->serial, before->serial);
}

}  // namespace
}  // namespace curtail::permission
