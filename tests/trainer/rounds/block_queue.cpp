// SPDX-License-Identifier: Apache-2.0
#include "trainer/rounds/block_queue.hpp"

#include <gtest/gtest.h>

namespace curtail::trainer {
namespace {

using protocol::Ranges;

TEST(BlockQueue, GivesTheLowestBlocksOnce)
{
    BlockQueue queue;
    EXPECT_TRUE(queue.next(2).empty());
    queue.order({{{0, 4}, {8, 12}}, {}, {}});
    EXPECT_EQ(queue.next(2), (Ranges{{0, 2}}));
    queue.begin_step({{0, 2}});
    EXPECT_EQ(queue.next(3), (Ranges{{2, 4}, {8, 9}}));
    queue.begin_step({{2, 4}});
    EXPECT_EQ(queue.next(100), (Ranges{{8, 12}}));
    EXPECT_EQ(queue.since_cut(), 4);
}

TEST(BlockQueue, AnOrderWithoutAPauseMayNotKnowTheStepsThatHaveBegun)
{
    BlockQueue queue;
    queue.order({{{0, 4}}, {}, {}});
    queue.begin_step({{0, 2}});
    queue.skip_step({{0, 2}});
    queue.order({{{0, 6}}, {}, {}});
    EXPECT_EQ(queue.next(100), (Ranges{{2, 6}}));
    queue.pause();
    EXPECT_TRUE(queue.paused());
    EXPECT_TRUE(queue.next(100).empty());
    queue.order({{{0, 6}}, {}, {}});
    EXPECT_EQ(queue.next(100), (Ranges{{0, 6}})) << "a commit may grant them again";
}

TEST(BlockQueue, CountsTheBlocksSinceTheLastCut)
{
    BlockQueue queue;
    queue.order({{{0, 9}}, {}, {}});
    queue.begin_step({{0, 2}});
    queue.begin_step({{2, 3}});
    queue.skip_step({{2, 3}});
    EXPECT_EQ(queue.since_cut(), 2);
    queue.pause();
    EXPECT_EQ(queue.since_cut(), 2);
    queue.pause_without_work();
    EXPECT_EQ(queue.since_cut(), 0);
}

}  // namespace
}  // namespace curtail::trainer
