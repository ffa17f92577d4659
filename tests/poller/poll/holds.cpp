// SPDX-License-Identifier: Apache-2.0
#include "poller/poll/holds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace curtail::poll {
namespace {

using Cause = plan::HoldRequest::Cause;
using testing::HasSubstr;
using testing::SizeIs;

Time at(int seconds) { return from_unix_ms(1'768'151'100'000) + Seconds(seconds); }
SiteId const site{"A"};
Decisions const no_decision{std::optional<permission::Hold>{}};
plan::HoldRequest const cancel{Cause::cancel, "job 7 was cancelled"};
plan::HoldRequest const failures{Cause::failures, "6 jobs failed in a row"};

Decisions decided(std::int64_t serial, bool held)
{
    return {permission::Hold{
        {"demo"}, site, serial, held, held ? "maintenance" : "", at(0), "anna@login1"}};
}

// A site that is held since second 100. Its open window opened at `opened`; the intensity was last
// above the threshold at `above` before that.
SiteRecord held_since_100(plan::HoldRequest const& request, std::optional<int> opened,
                          std::optional<int> above)
{
    SiteRecord record;
    if (opened) record.window.open = WindowId{format_time(at(*opened))};
    if (above) record.window.above_before_open = at(*above);
    record.window.evaluated_until = at(1000);
    record.holds.automatic = {request, at(100), at(100)};
    return record;
}

TEST(Holds, ARequestHoldsTheSite)
{
    SiteRecord record;
    record.window.evaluated_until = at(50);
    auto const update = update_holds(site, record, cancel, no_decision, at(100));
    ASSERT_TRUE(update.holds.automatic);
    EXPECT_EQ(*update.holds.automatic, (AutomaticHold{cancel, at(100), at(50)}));
    ASSERT_THAT(update.events, SizeIs(1));
    EXPECT_EQ(update.events[0].type, "hold");
    EXPECT_THAT(hold_reason(update.holds, no_decision), HasSubstr("job 7 was cancelled"));
}

TEST(Holds, ACancelLastsWhileItsWindowIsOpen)
{
    auto const record = held_since_100(cancel, 20, 10);
    EXPECT_TRUE(update_holds(site, record, {}, no_decision, at(1000)).holds.automatic);
}

TEST(Holds, ACancelEndsWithAWindowThatOpensAfterADirtySignal)
{
    auto const record = held_since_100(cancel, 900, 800);
    auto const update = update_holds(site, record, {}, no_decision, at(1000));
    EXPECT_FALSE(update.holds.automatic);
    ASSERT_THAT(update.events, SizeIs(1));
    EXPECT_EQ(update.events[0].type, "release");
}

TEST(Holds, ACancelLastsIfTheNewWindowFollowsAGapInTheSignal)
{
    for (auto const above : {std::optional<int>(), std::optional(10)}) {
        auto const record = held_since_100(cancel, 900, above);
        EXPECT_TRUE(update_holds(site, record, {}, no_decision, at(1000)).holds.automatic);
    }
}

TEST(Holds, FailuresHoldThroughEveryWindow)
{
    auto const record = held_since_100(failures, 900, 800);
    EXPECT_TRUE(update_holds(site, record, {}, no_decision, at(1000)).holds.automatic);
}

TEST(Holds, APersonsResumeEndsEveryHold)
{
    for (auto const& request : {cancel, failures}) {
        auto const record = held_since_100(request, {}, {});
        auto const update = update_holds(site, record, {}, decided(1, false), at(1000));
        EXPECT_FALSE(update.holds.automatic);
        EXPECT_TRUE(update.resumed);
        EXPECT_EQ(update.holds.applied_serial, 1);
    }
}

TEST(Holds, ACancelAfterAResumeHoldsTheSite)
{
    auto later = cancel;
    later.ended = at(1);  // the person's decision is of second 0
    auto const record = held_since_100(failures, {}, {});
    auto const update = update_holds(site, record, later, decided(1, false), at(1000));
    ASSERT_TRUE(update.holds.automatic);
    EXPECT_EQ(update.holds.automatic->request.cause, Cause::cancel);
    auto earlier = cancel;
    earlier.ended = at(-1);
    EXPECT_FALSE(update_holds(site, record, earlier, decided(1, false), at(1000)).holds.automatic);
}

TEST(Holds, ACancelThatWasNotedAheadOfTimeEndsOnceTheClockIsRight)
{
    auto record = held_since_100(cancel, {}, {});
    record.holds.automatic->signal_time = at(5000);
    auto const corrected = update_holds(site, record, {}, no_decision, at(1000));
    ASSERT_TRUE(corrected.holds.automatic);
    EXPECT_EQ(corrected.holds.automatic->signal_time, record.window.evaluated_until);
}

TEST(Holds, AnOldResumeDoesNotEndALaterHold)
{
    auto record = held_since_100(failures, {}, {});
    record.holds.applied_serial = 1;
    auto const update = update_holds(site, record, {}, decided(1, false), at(1000));
    EXPECT_TRUE(update.holds.automatic);
    EXPECT_FALSE(update.resumed);
    EXPECT_TRUE(update.events.empty());
}

TEST(Holds, APersonsPauseGivesItsReason)
{
    auto const update = update_holds(site, {}, {}, decided(1, true), at(1000));
    EXPECT_THAT(update.log, testing::ElementsAre("A: paused by 'anna@login1': 'maintenance'"));
    EXPECT_THAT(hold_reason(update.holds, decided(1, true)),
                HasSubstr("paused by 'anna@login1' at 2026-01-11T17:05:00Z: 'maintenance'"));
}

TEST(Holds, TextsOfAnotherMemberAreQuoted)
{
    auto decisions = decided(1, true);
    (*decisions.person)->reason = "x' $(touch y)\x1b[31m";
    (*decisions.person)->by = "anna`id`";
    auto const quoted = R"('anna`id`': 'x'\'' $(touch y)\x1b[31m')";
    EXPECT_THAT(update_holds(site, {}, {}, decisions, at(1000)).log.at(0), HasSubstr(quoted));
    EXPECT_THAT(hold_reason({}, decisions), HasSubstr("paused by 'anna`id`' at "));
    EXPECT_THAT(hold_reason({}, decisions), HasSubstr(R"(: 'x'\'' $(touch y)\x1b[31m')"));
    decisions.operators = permission::OperatorHold{"/holds/a`id`\n", "x"};
    EXPECT_THAT(hold_reason({}, decisions), HasSubstr(R"(('/holds/a`id`\x0a'))"));
    (*decisions.person)->held = false;
    EXPECT_THAT(update_holds(site, {}, {}, decisions, at(1000)).log.at(0),
                HasSubstr("resumed by 'anna`id`'"));
}

TEST(Holds, AnUnreadableDecisionHoldsTheSite)
{
    Decisions const damaged{fail(ExitCode::data, "cannot use the hold", "it is damaged")};
    EXPECT_THAT(hold_reason({}, damaged), HasSubstr("it is damaged"));
    auto const record = held_since_100(failures, {}, {});
    EXPECT_TRUE(update_holds(site, record, {}, damaged, at(1000)).holds.automatic);
}

TEST(Holds, AnOperatorsHoldWinsOverEveryDecisionAndIsNotedOnce)
{
    auto held = decided(1, false);
    held.operators = permission::OperatorHold{"/etc/curtail/holds.d/cooling", "no cooling"};
    SiteRecord record;
    auto const begun = update_holds(site, record, {}, held, at(100));
    EXPECT_THAT(hold_reason(begun.holds, held), HasSubstr("an operator holds this site"));
    ASSERT_THAT(begun.events, SizeIs(2)) << "the person's decision, and the hold";
    EXPECT_EQ(begun.events[1].type, "hold");
    EXPECT_EQ(begun.events[1].text("cause"), "operator");
    EXPECT_EQ(begun.events[1].text("by"), "/etc/curtail/holds.d/cooling");
    record.holds = begun.holds;
    EXPECT_THAT(update_holds(site, record, {}, held, at(200)).events, SizeIs(0));
    auto const ended = update_holds(site, record, {}, decided(1, false), at(300));
    ASSERT_THAT(ended.events, SizeIs(1));
    EXPECT_EQ(ended.events[0].type, "release");
    EXPECT_EQ(hold_reason(ended.holds, decided(1, false)), "");
}

}  // namespace
}  // namespace curtail::poll
