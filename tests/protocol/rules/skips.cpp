// SPDX-License-Identifier: Apache-2.0
// Blocks that sites skip, and blocks that the run sets aside.
#include "protocol/rules/skips.hpp"

#include <gmock/gmock.h>

#include "chain.hpp"

namespace curtail::protocol {
namespace {

using test::Chain;
using testing::HasSubstr;

// Site A holds [0,8), site B holds [8,16).
class Skips : public Chain {
  protected:
    Skips()
    {
        run.params.max_aside = 2;
        tip.terms.params.max_aside = 2;
        admit("A");
        admit("B");
    }
    MemberId const a{test::member("A", 2)};
    MemberId const b{test::member("B", 3)};
};

TEST_F(Skips, ADecisionFreesAndCountsSkippedBlocks)
{
    go({skips(a, 1, {{0, 2}})});
    EXPECT_EQ(tip.kind, Commit::Kind::roster);
    EXPECT_EQ(tip.skips, (std::vector<SkippedBlocks>{{{"A"}, 1, {{0, 2}}}}));
    EXPECT_TRUE(tip.aside.empty());
}

TEST_F(Skips, AnotherSiteGetsTheBlocksFirst)
{
    go({skips(a, 1, {{0, 2}}), contribution(b, 1, 1, {{8, 10}})});
    EXPECT_EQ(at(a).held, (Ranges{{2, 8}, {16, 18}}));
    EXPECT_EQ(at(b).held, (Ranges{{0, 2}, {10, 16}}));
}

TEST_F(Skips, ALoneSiteGetsTheBlocksAgain)
{
    Intents intents;
    intents.remove[b] = Removal::silent;
    go({}, intents);
    go({skips(a, 1, {{0, 1}})});
    EXPECT_TRUE(at(a).held.contains({{0, 1}}));
}

TEST_F(Skips, ASecondSiteSetsABlockAside)
{
    go({skips(a, 1, {{0, 2}}), contribution(b, 1, 1, {{8, 10}})});
    go({skips(b, 2, {{0, 1}})});
    EXPECT_EQ(tip.aside, (Ranges{{0, 1}}));
    EXPECT_EQ(tip.skips, (std::vector<SkippedBlocks>{{{"A"}, 1, {{1, 2}}}}));
}

TEST_F(Skips, TheThirdTimeSetsABlockAside)
{
    Intents intents;
    intents.remove[b] = Removal::silent;
    go({}, intents);
    go({skips(a, 1, {{0, 1}})});
    go({skips(a, 2, {{0, 1}})});
    EXPECT_EQ(tip.skips, (std::vector<SkippedBlocks>{{{"A"}, 2, {{0, 1}}}}));
    go({skips(a, 3, {{0, 1}})});
    EXPECT_EQ(tip.aside, (Ranges{{0, 1}}));
    EXPECT_TRUE(tip.skips.empty());
    EXPECT_FALSE(at(a).held.contains({{0, 1}}));
}

TEST_F(Skips, NoMoreBlocksThanTheLimitAreSetAside)
{
    Intents intents;
    intents.remove[b] = Removal::silent;
    go({}, intents);
    for (int seq = 1; seq <= 3; ++seq) go({skips(a, seq, {{0, 4}})});
    EXPECT_EQ(tip.aside, (Ranges{{0, 2}}));
    EXPECT_EQ(tip.skips, (std::vector<SkippedBlocks>{{{"A"}, 3, {{2, 4}}}}));
}

TEST_F(Skips, AnIncludedBlockIsNoLongerSkipped)
{
    go({skips(a, 1, {{0, 2}}), contribution(b, 1, 1, {{8, 10}})});
    go({contribution(b, 2, 2, {{0, 2}})});
    EXPECT_TRUE(tip.skips.empty());
}

TEST_F(Skips, ARefusedContributionSetsNothingAside)
{
    auto wrong = skips(a, 1, {{0, 2}});
    wrong.header.ranges = {{1, 3}};
    wrong.header.tokens = 2 * run.params.block_tokens;
    wrong.header.delta = {test::part("d0", delta_name({1}, a, {1})), 1.0};
    go({wrong});
    EXPECT_EQ(tip.decided[0].refused, Refusal::not_held);
    EXPECT_TRUE(tip.skips.empty());
    EXPECT_EQ(at(a).refused, 0) << "such a refusal says nothing about the site's hardware";
}

TEST_F(Skips, BlocksThatTheMemberDoesNotHoldAreRefused)
{
    go({skips(a, 1, {{8, 9}})});
    EXPECT_EQ(tip.decided[0].refused, Refusal::not_held);
    EXPECT_TRUE(at(b).held.contains({{8, 9}}));
}

TEST_F(Skips, ARunWithBlocksAsideIsComplete)
{
    Intents intents;
    intents.remove[b] = Removal::silent;
    go({}, intents);
    for (int seq = 1; seq <= 3; ++seq) go({skips(a, seq, {{0, 1}})});
    for (std::int64_t seq = 4; !tip.complete; ++seq)
        go({contribution(a, seq, tip.round.value, at(a).held)});
    EXPECT_EQ(tip.done, (Ranges{{1, 40}}));
}

TEST_F(Skips, AReaderRefusesACommitThatSetsTooMuchAside)
{
    auto c = *try_next({skips(a, 1, {{0, 2}})});
    c.aside = {{0, 1}};
    c.skips[0].blocks = {{1, 2}};
    auto const error = check(run, tip, encode(tip).sha256, c);
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr("aside must follow from the skipped blocks"));
}

TEST(SkippedBlocks, AreBoundedToTheLowestRanges)
{
    Commit commit;
    Ranges odd;
    for (std::int64_t block = 0; block < 600; ++block) odd += {{2 * block, 2 * block + 1}};
    count_skipped(test::small_run(2000), {"A"}, odd, commit);
    ASSERT_EQ(commit.skips.size(), 1U);
    EXPECT_EQ(commit.skips[0].blocks, (odd & Ranges::between(0, 512)));
}

TEST_F(Skips, NoMoreBlocksAreSetAsideThanTheRecordCanList)
{
    run.params.max_aside = 100;
    run.limits.aside_ranges = 2;
    Commit commit;
    for (int times = 0; times < 3; ++times)
        count_skipped(run, {"A"}, {{0, 1}, {2, 3}, {4, 5}}, commit);
    EXPECT_EQ(commit.aside, (Ranges{{0, 1}, {2, 3}}));
    EXPECT_TRUE(is_aside_full(run, commit));
    run.limits.aside_ranges = 3;
    EXPECT_FALSE(is_aside_full(run, commit));
}

}  // namespace
}  // namespace curtail::protocol
