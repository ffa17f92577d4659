// SPDX-License-Identifier: Apache-2.0
#include "snapshot/copy_buffer.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <numeric>

namespace curtail::snapshot {
namespace {

using testing::ElementsAre;
constexpr std::size_t mib = std::size_t{1} << 20;

TEST(CopyBuffer, ItsBlocksHaveTheBytesThatAreNeededAndNoMore)
{
    for (std::size_t const bytes : {std::size_t{0}, std::size_t{1}, 16 * mib - 1, 16 * mib,
                                    512 * mib, 1024 * mib - 1, std::size_t{5'160'000'000}}) {
        auto const sizes = block_sizes(bytes);
        EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), bytes);
    }
}

// PyTorch pins the next power of two.
TEST(CopyBuffer, PinnedInPowersOfTwoWastesLessThanTheSmallestBlock)
{
    for (std::size_t const bytes : {std::size_t{1}, 17 * mib, 511 * mib, 513 * mib,
                                    std::size_t{5'160'000'000}, std::size_t{20'000'000'000}}) {
        std::size_t pinned = 0;
        for (auto const size : block_sizes(bytes)) pinned += std::bit_ceil(size);
        EXPECT_LT(pinned, bytes + 8 * mib) << bytes;
    }
}

TEST(CopyBuffer, NoBlockIsLargerThan512MiB)
{
    EXPECT_THAT(block_sizes(1300 * mib),
                ElementsAre(512 * mib, 512 * mib, 256 * mib, 16 * mib, 4 * mib));
}

TEST(CopyBuffer, ARangeAcrossBlocksHasASpanInEach)
{
    std::vector<AlignedBuffer> blocks;
    CopyBuffer const buffer(49 * mib,
                            [&](std::size_t bytes) { return blocks.emplace_back(bytes); });
    ASSERT_EQ(blocks.size(), 3U);
    auto const spans = buffer.bytes(32 * mib - 4096, 16 * mib + 8192);
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_EQ(spans[0].data(), &blocks[0].bytes()[32 * mib - 4096]);
    EXPECT_EQ(spans[1].data(), blocks[1].bytes().data());
    EXPECT_EQ(spans[2].data(), blocks[2].bytes().data());
    EXPECT_THAT((std::vector{spans[0].size(), spans[1].size(), spans[2].size()}),
                ElementsAre(4096U, 16 * mib, 4096U));
}

TEST(CopyBuffer, ARangeUpToTheEndOfABlockHasOneSpan)
{
    CopyBuffer const buffer(17 * mib, [](std::size_t bytes) { return AlignedBuffer(bytes); });
    EXPECT_EQ(buffer.bytes(0, 16 * mib).size(), 1U);
    EXPECT_EQ(buffer.bytes(16 * mib, mib).size(), 1U);
    EXPECT_TRUE(buffer.bytes(16 * mib, 0).empty());
}

}  // namespace
}  // namespace curtail::snapshot
