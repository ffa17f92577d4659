// SPDX-License-Identifier: Apache-2.0
#include "protocol/site/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/records/fixtures.hpp"
#include "scripted_site.hpp"
#include "simulator/simulator.hpp"
#include "simulator/verify_objects.hpp"

namespace curtail::protocol {
namespace {

using simulator::Simulator;
using test::ScriptedSite;
using test::small_run;
using testing::HasSubstr;

Result<chain::ChainSummary> summary_of(Simulator& s)
{
    return simulator::verify_objects(s.store().source());
}

TEST(Site, ALoneSiteCommitsItsOwnWeightsWithoutLeaseAndHeaders)
{
    Simulator s(small_run(60, {{"A"}}), 1, {});
    s.start(0);
    ASSERT_TRUE(s.run_until(Seconds{300}, [&] { return s.complete(); }));
    auto const v = summary_of(s);
    ASSERT_TRUE(v) << v.error().message();
    EXPECT_EQ(v->lone, v->merges);
    EXPECT_GE(v->merges, 3);
    for (auto const& entry : s.store().small())
        EXPECT_FALSE(entry.first.rfind("merge/", 0) == 0 || entry.first.rfind("contrib/", 0) == 0)
            << entry.first;
}

// 300,000 tokens in blocks of 2,048: 146 whole blocks and a part of the next one.
TEST(Site, ATokenBudgetEndsTheRunAtItsLastBlock)
{
    for (std::size_t const sites : {std::size_t{1}, std::size_t{3}}) {
        std::vector<SiteId> const names{{"A"}, {"B"}, {"C"}};
        auto run = small_run(200, {names.begin(), names.begin() + static_cast<int>(sites)});
        run.params.block_tokens = Tokens{2'048};
        run.budget = Tokens{300'000};
        Simulator s(run, 1, {});
        for (std::size_t i = 0; i < sites; ++i) s.start(i);
        ASSERT_TRUE(s.run_until(Seconds{300}, [&] { return s.complete(); }));
        auto const v = summary_of(s);
        ASSERT_TRUE(v) << v.error().message();
        EXPECT_EQ(v->tip.done, Ranges::between(0, 147));
        EXPECT_EQ(v->tip.totals.tokens, Tokens{147L * 2'048});
    }
}

TEST(Site, SeveralSitesAverageInEveryRound)
{
    Simulator s(small_run(2000, {{"A"}, {"B"}, {"C"}}), 2, {});
    for (std::size_t i = 0; i < 3; ++i) s.start(i);
    s.run_until(Seconds{90}, [] { return false; });
    auto const v = summary_of(s);
    ASSERT_TRUE(v) << v.error().message();
    EXPECT_GE(v->averaged, 14) << "a round takes 3 s plus the merge";
    EXPECT_LE(v->merges - v->averaged, 2);
    auto const& last = s.store().chain();
    int with_all = 0, merges = 0;
    for (auto const& c : last) {
        if (c.kind != Commit::Kind::merge || c.round.value < 5) continue;
        std::set<SiteId> fresh;
        for (auto const& d : c.decided)
            if (d.staleness == 0) fresh.insert(member_parts(d.member).process.site);
        ++merges;
        if (fresh.size() == 3) ++with_all;
    }
    EXPECT_EQ(with_all, merges) << "each round must include fresh work of all live members";
}

TEST(Site, AJoinerStartsFromTheLoneSitesNextCommit)
{
    Simulator s(small_run(2000, {{"A"}, {"B"}}), 3, {});
    s.start(0);
    s.run_until(Seconds{10}, [] { return false; });
    s.start(1);
    auto const began = s.now();
    auto const trains = [&] {
        return s.site_of(1) != nullptr && s.site_of(1)->status().state == ProtocolState::run;
    };
    ASSERT_TRUE(s.run_until(Seconds{60}, trains));
    EXPECT_LT(s.now() - began, Seconds{4});
    EXPECT_EQ(s.site_of(1)->status().base, s.store().chain().back().round);
    EXPECT_TRUE(s.store().chain().back().decided.at(0).inlined);
}

TEST(Site, AStoppedSiteContributesAndExits)
{
    Simulator s(small_run(2000, {{"A"}, {"B"}}), 4, {});
    s.start(0);
    s.start(1);
    s.run_until(Seconds{20}, [] { return false; });
    auto const id = *s.site_of(0)->status().member;
    s.stop(0, Seconds{10});
    ASSERT_TRUE(s.run_until(s.now() + Seconds{5}, [&] { return s.site_of(0) == nullptr; }));
    s.run_until(s.now() + Seconds{10}, [] { return false; });
    bool left = false;
    for (auto const& c : s.store().chain())
        for (auto const& r : c.removed)
            left = left || (r.member == id && r.reason == Removal::left);
    EXPECT_TRUE(left);
    EXPECT_EQ(summary_of(s)->refused, 0);
}

TEST(Site, AStarterFoldsPendingWorkOfDeadSitesBeforeItTrains)
{
    Simulator s(small_run(2000, {{"A"}, {"B"}}), 5, {});
    s.start(0);
    s.start(1);
    s.run_until(Seconds{20}, [] { return false; });
    auto const trains = [&](std::size_t site) {
        auto const status = s.site_of(site)->status();
        return status.state == ProtocolState::run && !status.since.empty();
    };
    ASSERT_TRUE(s.run_until(s.now() + Seconds{10}, [&] { return trains(0) && trains(1); }));
    s.stop(0, Seconds{10});
    s.stop(1, Seconds{10});
    s.run_until(s.now() + Seconds{10}, [] { return false; });
    ASSERT_EQ(s.living_count(), 0U);
    auto const before = s.store().chain().back();
    ASSERT_EQ(before.members.size(), 2U) << "their contributions are pending";
    s.run_until(s.now() + std::chrono::hours{48}, [] { return false; });
    s.start(1);
    auto const joined = [&] {
        return s.store().chain().size() >= static_cast<std::size_t>(before.number.value) + 2;
    };
    ASSERT_TRUE(s.run_until(s.now() + Seconds{10}, joined));
    auto const& fold = s.store().chain().at(static_cast<std::size_t>(before.number.value));
    EXPECT_EQ(fold.kind, Commit::Kind::merge);
    EXPECT_EQ(fold.decided.size(), 2U);
    EXPECT_TRUE(fold.members.empty());
    EXPECT_EQ(member_parts(fold.by.member).admitted, CommitNumber{0})
        << "must be written by a process that is no member";
    EXPECT_EQ(s.store().chain().back().members.size(), 1U);
}

TEST(Site, AnotherSiteTrainsTheBlocksOfAKilledOne)
{
    Simulator s(small_run(60, {{"A"}, {"B"}}), 6, {});
    s.start(0);
    s.start(1);
    s.run_until(Seconds{6}, [] { return false; });
    s.kill(0);
    ASSERT_TRUE(s.run_until(Seconds{200}, [&] { return s.complete(); }));
    bool silent = false;
    for (auto const& c : s.store().chain())
        for (auto const& r : c.removed) silent = silent || r.reason == Removal::silent;
    EXPECT_TRUE(silent);
}

TEST(Site, ANewInstanceReplacesTheOldOneAtOnce)
{
    Simulator s(small_run(2000, {{"A"}, {"B"}}), 7, {});
    s.start(0);
    s.start(1);
    s.run_until(Seconds{20}, [] { return false; });
    auto const old = *s.site_of(0)->status().member;
    s.start(0);
    ASSERT_TRUE(s.run_until(s.now() + Seconds{30}, [&] { return s.living_count() == 2; }))
        << "the older instance must exit";
    auto const succeeded = [&] {
        for (auto const& c : s.store().chain())
            for (auto const& r : c.removed)
                if (r.member == old &&
                    (r.reason == Removal::succeeded || r.reason == Removal::left))
                    return true;
        return false;
    };
    EXPECT_TRUE(s.run_until(s.now() + Seconds{30}, succeeded));
}

// Every step of the one site fails for a while.
TEST(Site, BlocksThatASiteSkipsForAWhileAreTrainedLater)
{
    auto run = small_run(12, {{"A"}});
    run.params.grant_quantum = 2;
    Simulator s(run, 1, {});
    s.start(0);
    auto const member = [&] { return s.notes().contains("joined"); };
    ASSERT_TRUE(s.run_until(Seconds{60}, member));
    simulator::Chaos broken;
    broken.skipped = 1;
    s.set_chaos(broken);
    auto const skipped = [&] { return !s.store().chain().back().skips.empty(); };
    ASSERT_TRUE(s.run_until(Seconds{120}, skipped));
    s.set_chaos({});
    ASSERT_TRUE(s.run_until(Seconds{300}, [&] { return s.complete(); }));
    auto const v = summary_of(s);
    ASSERT_TRUE(v) << v.error().message();
    EXPECT_EQ(v->tip.done, Ranges::between(0, 12));
    EXPECT_EQ(s.notes().at("joined"), 1);
}

TEST(Site, ASiteWhoseTrainingHasDivergedLeaves)
{
    auto run = small_run(2000, {{"A"}});
    Simulator s(run, 1, {});
    s.start(0);
    auto const trains = [&] {
        return !s.store().chain().empty() && s.store().chain().back().totals.steps > 0;
    };
    ASSERT_TRUE(s.run_until(Seconds{60}, trains));
    s.break_site(0);
    ASSERT_TRUE(s.run_until(Seconds{300}, [&] { return s.living_count() == 0; }));
    EXPECT_EQ(s.exits().back().code, ExitCode::data);
    EXPECT_THAT(s.exits().back().error->message(), HasSubstr("training diverged"));
    EXPECT_EQ(s.store().chain().back().aside.count(), 2) << "a thousandth of the stream";
}

TEST(Site, ASiteThatAloneFailsLeavesBlocksToTheOthers)
{
    auto run = small_run(2000, {{"A"}, {"B"}});
    Simulator s(run, 1, {});
    s.start(0);
    s.start(1);
    auto const both = [&] {
        return !s.store().chain().empty() && s.store().chain().back().members.size() == 2;
    };
    ASSERT_TRUE(s.run_until(Seconds{60}, both));
    s.break_site(0);
    ASSERT_TRUE(s.run_until(Seconds{300}, [&] { return s.living_count() == 1; }));
    EXPECT_EQ(s.exits().back().code, ExitCode::data);
    EXPECT_TRUE(s.store().chain().back().aside.empty());
}

TEST(Site, AProcessWhoseStepsAllFailExitsAndAnotherSiteTrainsItsBlocks)
{
    Simulator s(small_run(200, {{"A"}, {"B"}}), 3, {});
    s.start(0);
    s.start(1);
    auto const both = [&] { return s.notes().contains("joined") && s.notes().at("joined") == 2; };
    ASSERT_TRUE(s.run_until(Seconds{60}, both));
    s.break_site(0);
    ASSERT_TRUE(s.run_until(Seconds{300}, [&] { return s.living_count() == 1; }));
    EXPECT_EQ(s.exits().at(0).code, ExitCode::data);
    EXPECT_THAT(s.exits().at(0).error->message(), HasSubstr("gradient of every step"));
    EXPECT_LE(s.notes().at("joined"), 5);
    ASSERT_TRUE(s.run_until(Seconds{600}, [&] { return s.complete(); }));
    EXPECT_EQ(summary_of(s)->tip.done, Ranges::between(0, 200));
}

}  // namespace
}  // namespace curtail::protocol
