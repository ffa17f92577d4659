// SPDX-License-Identifier: Apache-2.0
#include "base/core/large_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/core/direct_io.hpp"

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

TEST(AlignedMemory, OfAnySizeIsAlignedForDirectIo)
{
    for (std::size_t const size : {std::size_t{1}, direct_block_bytes, direct_block_bytes + 1,
                                   huge_page, 3 * huge_page + 5}) {
        AlignedMemory const memory(size);
        ASSERT_EQ(memory.bytes().size(), size);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.bytes().data()) % direct_block_bytes, 0U);
        std::ranges::fill(memory.bytes(), std::byte{1});
        std::vector<AlignedMemory> const copies(2, memory);
        EXPECT_EQ(copies[1].bytes().data(), memory.bytes().data());
        auto const zeros = AlignedMemory::zeros(size);
        EXPECT_TRUE(
            std::ranges::all_of(zeros.bytes(), [](auto byte) { return byte == std::byte{}; }));
    }
    EXPECT_TRUE(AlignedMemory(0).bytes().empty());
}

}  // namespace
}  // namespace curtail
