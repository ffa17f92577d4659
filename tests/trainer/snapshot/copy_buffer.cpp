// SPDX-License-Identifier: Apache-2.0
#include "trainer/snapshot/copy_buffer.hpp"

#include <gmock/gmock.h>

namespace curtail::snapshot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
constexpr std::size_t mib = std::size_t{1} << 20;

std::vector<std::size_t> sizes_of(std::size_t bytes, std::size_t largest)
{
    std::vector<std::size_t> sizes;
    CopyBuffer const buffer(bytes, {[&](std::size_t size) {
                                        sizes.push_back(size);
                                        return AlignedMemory(size);
                                    },
                                    largest});
    return sizes;
}

TEST(CopyBuffer, ItsBlocksHaveTheBytesThatAreNeededAndNoMore)
{
    EXPECT_THAT(sizes_of(0, mib), IsEmpty());
    EXPECT_THAT(sizes_of(4096, mib), ElementsAre(4096U));
    EXPECT_THAT(sizes_of(2 * mib, mib), ElementsAre(mib, mib));
    EXPECT_THAT(sizes_of(2 * mib + 4096, mib), ElementsAre(mib, mib, 4096U));
}

TEST(CopyBuffer, NoBlockIsLargerThan512MiB) { EXPECT_EQ(BlockSource{}.largest, 512 * mib); }

TEST(CopyBuffer, ARangeAcrossBlocksHasASpanInEach)
{
    std::vector<AlignedMemory> blocks;
    CopyBuffer const buffer(
        33 * mib, {[&](std::size_t bytes) { return blocks.emplace_back(bytes); }, 16 * mib});
    ASSERT_EQ(blocks.size(), 3U);
    auto const spans = buffer.bytes(16 * mib - 4096, 16 * mib + 8192);
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_EQ(spans[0].data(), &blocks[0].bytes()[16 * mib - 4096]);
    EXPECT_EQ(spans[1].data(), blocks[1].bytes().data());
    EXPECT_EQ(spans[2].data(), blocks[2].bytes().data());
    EXPECT_THAT((std::vector{spans[0].size(), spans[1].size(), spans[2].size()}),
                ElementsAre(4096U, 16 * mib, 4096U));
}

TEST(CopyBuffer, ARangeUpToTheEndOfABlockHasOneSpan)
{
    CopyBuffer const buffer(17 * mib, {BlockSource{}.make, 16 * mib});
    EXPECT_EQ(buffer.bytes(0, 16 * mib).size(), 1U);
    EXPECT_EQ(buffer.bytes(16 * mib, mib).size(), 1U);
    EXPECT_TRUE(buffer.bytes(16 * mib, 0).empty());
}

}  // namespace
}  // namespace curtail::snapshot
