// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/loader.hpp"

#include <gtest/gtest.h>

#include <random>

#include "trainer/data/folder.hpp"

namespace curtail::data {
namespace {

Loader make_loader(std::filesystem::path const& folder, std::int64_t block_tokens,
                   std::int64_t sequence)
{
    return Loader::create(TokenStream::open(folder, Split::train).value(), block_tokens, sequence)
        .value();
}

TEST(Loader, AnEpochHasWholeBlocksAndOneTokenMore)
{
    test::TemporaryFolder const folder;
    make_counting_folder(folder.path(), 101, 30);
    EXPECT_EQ(make_loader(folder.path(), 20, 10).blocks_per_epoch(), 5);
    EXPECT_EQ(make_loader(folder.path(), 50, 10).blocks_per_epoch(), 2);
    EXPECT_EQ(make_loader(folder.path(), 100, 10).blocks_per_epoch(), 1);
    EXPECT_EQ(make_loader(folder.path(), 30, 10).blocks_per_epoch(), 3);
    test::TemporaryFolder const shorter;
    make_counting_folder(shorter.path(), 100, 30);
    EXPECT_EQ(make_loader(shorter.path(), 20, 10).blocks_per_epoch(), 4)
        << "the fifth block would have no last target";
    auto const too_short =
        Loader::create(TokenStream::open(folder.path(), Split::train).value(), 101, 101);
    EXPECT_EQ(too_short.error().code, ExitCode::data);
    EXPECT_EQ(
        Loader::create(TokenStream::open(folder.path(), Split::train).value(), 25, 10).error().code,
        ExitCode::config);
}

TEST(Loader, BlocksOfAllEpochsAreRightAcrossShards)
{
    test::TemporaryFolder const folder;
    make_counting_folder(folder.path(), 2'477, 97);
    auto loader = make_loader(folder.path(), 60, 20);
    auto const per_epoch = loader.blocks_per_epoch();
    ASSERT_EQ(per_epoch, 41);
    for (std::int64_t p = 0; p < 3 * per_epoch; ++p) {
        auto const batch = loader.rows(std::span(&p, 1), {0, 3}).value();
        ASSERT_EQ(batch.inputs.size(), 60U);
        for (std::int64_t i = 0; i < 60; ++i) {
            auto const position = p % per_epoch * 60 + i;
            ASSERT_EQ(batch.inputs[static_cast<std::size_t>(i)], position % 1'000) << "block " << p;
            ASSERT_EQ(batch.targets[static_cast<std::size_t>(i)], (position + 1) % 1'000)
                << "block " << p;
        }
    }
}

TEST(Loader, TheGlobalBatchDoesNotDependOnTheNumberOfRanks)
{
    test::TemporaryFolder const folder;
    make_counting_folder(folder.path(), 5'000, 333);
    auto loader = make_loader(folder.path(), 80, 16);
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        std::vector<std::int64_t> blocks;
        for (auto n = 1 + random() % 5; n > 0; --n)
            blocks.push_back(static_cast<std::int64_t>(random() % 200));
        auto const rows = std::ssize(blocks) * loader.rows_per_block();
        auto const whole = loader.rows(blocks, {0, rows}).value();
        for (int ranks : {1, 2, 3, 4, 8}) {
            Batch joined;
            for (int rank = 0; rank < ranks; ++rank) {
                auto const share = loader.rows(blocks, rows_of_rank(rows, rank, ranks)).value();
                joined.inputs.insert(joined.inputs.end(), share.inputs.begin(), share.inputs.end());
                joined.targets.insert(joined.targets.end(), share.targets.begin(),
                                      share.targets.end());
            }
            EXPECT_EQ(joined.inputs, whole.inputs) << "seed " << seed << ", ranks " << ranks;
            EXPECT_EQ(joined.targets, whole.targets) << "seed " << seed << ", ranks " << ranks;
        }
    }
}

TEST(Loader, RowsAreSharedEvenly)
{
    for (std::int64_t rows = 0; rows < 40; ++rows)
        for (int ranks = 1; ranks <= 9; ++ranks) {
            std::int64_t end = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                auto const share = rows_of_rank(rows, rank, ranks);
                EXPECT_EQ(share.begin, end);
                EXPECT_LE(std::abs(share.size() * ranks - rows), ranks);
                end = share.end;
            }
            EXPECT_EQ(end, rows);
        }
}

TEST(Loader, RowsOutOfRangeThrow)
{
    test::TemporaryFolder const folder;
    make_counting_folder(folder.path(), 101, 30);
    auto loader = make_loader(folder.path(), 20, 10);
    std::int64_t const block = 0;
    EXPECT_THROW((void)loader.rows(std::span(&block, 1), {0, 3}), std::out_of_range);
    EXPECT_THROW((void)loader.rows(std::span(&block, 1), {-1, 1}), std::out_of_range);
    EXPECT_THROW((void)rows_of_rank(4, 2, 2), std::out_of_range);
}

}  // namespace
}  // namespace curtail::data
