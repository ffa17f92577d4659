// SPDX-License-Identifier: Apache-2.0
#include "core/large_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace curtail {
namespace {

constexpr std::size_t huge_page = std::size_t{1} << 21;

TEST(LargeMemory, AVectorOfAnySizeHasZeros)
{
    for (std::size_t const size : {std::size_t{0}, std::size_t{1}, huge_page, 5 * huge_page + 1}) {
        auto const values = large_vector<float>(size);
        ASSERT_EQ(values.size(), size);
        EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float v) { return v == 0; }));
    }
}

TEST(LargeMemory, ABufferHasTheSizeOfItsLastUse)
{
    LargeBuffer buffer(3 * huge_page);
    std::ranges::fill(buffer.resize(3 * huge_page), std::byte{1});
    std::ranges::fill(buffer.resize(7), std::byte{2});
    ASSERT_EQ(buffer.bytes().size(), 7U);
    EXPECT_EQ(buffer.bytes().back(), std::byte{2});
}

}  // namespace
}  // namespace curtail
