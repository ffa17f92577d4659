// SPDX-License-Identifier: Apache-2.0
// Memory as an allocator may give it.
#include "train/pinned_memory.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tensors/preallocated.hpp"

namespace curtail::train {
namespace {

constexpr std::int64_t page = tensors::block_bytes;
constexpr std::int64_t bytes = 3 * page;

// `bytes` bytes that begin `over` bytes after a multiple of a page.
at::Tensor memory(std::int64_t over)
{
    auto all = at::empty({bytes + 2 * page}, at::kByte);
    auto const begin = reinterpret_cast<std::uintptr_t>(all.const_data_ptr());
    auto const after = static_cast<std::int64_t>(begin % page);
    return all.narrow(0, page - after + over, bytes);
}

TEST(PinnedMemory, AlignedToPagesIsUsedForDirectIo)
{
    auto const aligned = memory(0);
    auto const block = for_direct_io(aligned);
    EXPECT_EQ(static_cast<void*>(block.bytes().data()), aligned.mutable_data_ptr());
    EXPECT_EQ(block.bytes().size(), bytes);
}

TEST(PinnedMemory, LivesAsLongAsItsBlock)
{
    auto tensor = memory(0);
    auto const block = for_direct_io(tensor);
    EXPECT_EQ(tensor.use_count(), 2U);
}

TEST(PinnedMemory, ThatIsNotAlignedIsReplaced)
{
    auto const block = for_direct_io(memory(64));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.bytes().data()) % page, 0U);
    EXPECT_EQ(block.bytes().size(), bytes);
}

}  // namespace
}  // namespace curtail::train
