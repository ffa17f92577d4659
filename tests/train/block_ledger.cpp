// SPDX-License-Identifier: Apache-2.0
#include "train/block_ledger.hpp"

#include <gtest/gtest.h>

namespace curtail::train {
namespace {

using rounds::Ranges;

TEST(BlockLedger, GivesTheLowestFreeBlocksOnce)
{
    BlockLedger ledger;
    Ranges const held{{0, 4}, {8, 12}};
    EXPECT_EQ(ledger.next_blocks(held, 2), (Ranges{{0, 2}}));
    ledger.record_step({{0, 2}});
    EXPECT_EQ(ledger.next_blocks(held, 3), (Ranges{{2, 4}, {8, 9}}));
    (void)ledger.cut({1});
    ledger.record_step({{2, 4}});
    EXPECT_EQ(ledger.next_blocks(held, 100), (Ranges{{8, 12}}));
    EXPECT_EQ(ledger.blocks_since(), 2);
}

TEST(BlockLedger, ACutHasTheBlocksSinceTheLastOne)
{
    BlockLedger ledger;
    ledger.record_step({{0, 1}});
    ledger.record_step({{1, 3}});
    auto const first = ledger.cut({1});
    EXPECT_EQ(first.ranges, (Ranges{{0, 3}}));
    EXPECT_EQ(first.steps, 2);
    auto const second = ledger.cut({2});
    EXPECT_TRUE(second.ranges.empty());
    EXPECT_EQ(second.steps, 0);
}

TEST(BlockLedger, SkippedBlocksWaitUntilTheirCutIsDecided)
{
    BlockLedger ledger;
    Ranges const held{{0, 9}};
    ledger.record_step({{0, 2}});
    ledger.record_step({{2, 3}});
    ledger.skip_step({{2, 3}});
    EXPECT_EQ(ledger.next_blocks(held, 9), (Ranges{{3, 9}}));
    auto const made = ledger.cut({1});
    EXPECT_EQ(made.ranges, (Ranges{{0, 2}}));
    EXPECT_EQ(made.skipped, (Ranges{{2, 3}}));
    EXPECT_EQ(made.steps, 1);
    EXPECT_EQ(ledger.next_blocks({{2, 4}}, 9), (Ranges{{3, 4}}));
    EXPECT_TRUE(ledger.cut({2}).skipped.empty());
    ledger.forget({{1}});
    EXPECT_EQ(ledger.next_blocks({{2, 4}}, 9), (Ranges{{2, 4}})) << "a commit may grant them again";
}

TEST(BlockLedger, TheSameCutCannotBeMadeTwice)
{
    BlockLedger ledger;
    (void)ledger.cut({1});
    EXPECT_THROW((void)ledger.cut({1}), std::logic_error);
}

}  // namespace
}  // namespace curtail::train
