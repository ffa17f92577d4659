// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/micro_batches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace curtail::trainer {
namespace {

using data::RowRange;

std::vector<RowRange> rows_of(BatchShape const& shape)
{
    std::vector<RowRange> rows;
    for (auto const& micro : micro_batches(shape)) rows.push_back(micro.rows);
    return rows;
}

TEST(MicroBatches, HaveAsManyWholeBlocksAsFit)
{
    EXPECT_THAT(rows_of({5, 4, 2, 4}),
                testing::ElementsAre(RowRange{0, 8}, RowRange{8, 16}, RowRange{16, 20}));
    EXPECT_THAT(rows_of({5, 4, 1, 7}),
                testing::ElementsAre(RowRange{0, 4}, RowRange{4, 8}, RowRange{8, 12},
                                     RowRange{12, 16}, RowRange{16, 20}));
}

TEST(MicroBatches, SplitABlockThatDoesNotFitIntoEqualParts)
{
    auto const micro = micro_batches({2, 9, 2, 2});
    ASSERT_EQ(micro.size(), 6);
    EXPECT_EQ(micro[0].rows, (RowRange{0, 3}));
    EXPECT_EQ(micro[5].rows, (RowRange{15, 18}));
    std::vector<bool> begins;
    begins.reserve(micro.size());
    for (auto const& m : micro) begins.push_back(m.begins_block);
    EXPECT_THAT(begins, testing::ElementsAre(true, false, false, true, false, false));
}

TEST(MicroBatches, OfABatchWithoutBlocksAreNone) { EXPECT_TRUE(rows_of({0, 4, 2, 4}).empty()); }

// Every row belongs to one rank of one micro-batch, and no rank gets more rows than it has memory
// for.
TEST(MicroBatches, CoverTheBatchOnceWithinTheMemoryOfEachRank)
{
    for (std::int64_t blocks = 1; blocks < 8; ++blocks)
        for (std::int64_t rows_per_block = 1; rows_per_block < 12; ++rows_per_block)
            for (int ranks = 1; ranks < 6; ++ranks)
                for (std::int64_t device_rows = 1; device_rows < 9; ++device_rows) {
                    std::int64_t next = 0;
                    auto const all = micro_batches({blocks, rows_per_block, ranks, device_rows});
                    for (auto const& micro : all) {
                        ASSERT_EQ(micro.begins_block, next % rows_per_block == 0);
                        for (int rank = 0; rank < ranks; ++rank) {
                            auto const share = micro.share_of(rank, ranks);
                            ASSERT_EQ(share.begin, next);
                            ASSERT_LE(share.size(), device_rows);
                            next = share.end;
                        }
                    }
                    ASSERT_EQ(next, blocks * rows_per_block);
                }
}

}  // namespace
}  // namespace curtail::trainer
