// SPDX-License-Identifier: Apache-2.0
// Memory as a build for CPUs gives it: no driver registers it.
#include "trainer/engine/pinned_memory.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "base/core/direct_io.hpp"

namespace curtail::trainer {
namespace {

TEST(PinnedBlock, IsAlignedAndZeroForAllSizes)
{
    constexpr std::size_t page = direct_block_bytes;
    for (std::size_t const bytes : {page, 3 * page, 4 * page, 5 * page, 1000 * page}) {
        auto const block = pinned_block(bytes, at::kCPU);
        ASSERT_EQ(block.bytes().size(), bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.bytes().data()) % page, 0U);
        EXPECT_TRUE(std::all_of(block.bytes().begin(), block.bytes().end(),
                                [](std::byte byte) { return byte == std::byte{0}; }));
    }
}

TEST(HostCopy, ThroughStagingMemoryHasAllElements)
{
    for (std::int64_t const size : {1, 7, 8, 9, 23, 24}) {
        HostCopy host(at::empty({8}, at::kFloat));
        auto const from = at::arange(size, at::kFloat);
        auto const to = at::zeros({size + 1}, at::kFloat);
        host.copy(from, to.narrow(0, 0, size));
        EXPECT_TRUE(to.narrow(0, 0, size).equal(from)) << size;
        EXPECT_EQ(to[size].item<float>(), 0);
    }
}

TEST(HostCopy, ThroughStagingMemoryUsesIt)
{
    auto const staging = at::zeros({8});
    HostCopy(staging).copy(at::ones({6}), at::zeros({6}));
    EXPECT_EQ(staging.sum().item<float>(), 6);
}

// There is no pinned memory without a GPU, so asking for it would fail.
TEST(HostCopy, OnACpuNeedsNoPinnedMemory)
{
    auto const to = at::zeros({3});
    HostCopy(at::kCPU).copy(at::ones({3}), to);
    EXPECT_TRUE(to.equal(at::ones({3})));
}

// The system has no pinned memory if it has no GPU.
TEST(HostCopy, WithoutPinnedMemoryIsDirect)
{
    HostCopy host(c10::Device(at::kCUDA, 0));
    auto const to = at::zeros({3});
    host.copy(at::ones({3}), to);
    EXPECT_TRUE(to.equal(at::ones({3})));
}

}  // namespace
}  // namespace curtail::trainer
