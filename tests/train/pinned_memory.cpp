// SPDX-License-Identifier: Apache-2.0
// Memory as a build for CPUs gives it: no driver registers it.
#include "train/pinned_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "tensors/preallocated.hpp"

namespace curtail::train {
namespace {

TEST(PinnedBlock, IsAlignedAndZeroForAllSizes)
{
    constexpr std::size_t page = tensors::block_bytes;
    for (std::size_t const bytes : {page, 3 * page, 4 * page, 5 * page, 1000 * page}) {
        auto const block = pinned_block(bytes);
        ASSERT_EQ(block.bytes().size(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.bytes().data()) % page, 0U);
        EXPECT_TRUE(std::all_of(block.bytes().begin(), block.bytes().end(),
                                [](std::byte byte) { return byte == std::byte{0}; }));
    }
}

}  // namespace
}  // namespace curtail::train
