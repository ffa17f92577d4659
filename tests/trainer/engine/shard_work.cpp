// SPDX-License-Identifier: Apache-2.0
// A cut of a shard that is larger than one slice of the computation.
#include "trainer/engine/shard_work.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace curtail::trainer {
namespace {

constexpr std::int64_t elements = 600'000;
constexpr Seq first{1};

TEST(ShardWork, ACutOnAGpuHasFewSlicesOfBoundedMemory)
{
    constexpr std::int64_t parameters_of_d20 = 560'000'000;
    auto const slice = cut_slice_elements(c10::Device(at::kCUDA, 0));
    EXPECT_LE(parameters_of_d20 / slice, 10);
    EXPECT_LE(slice * std::int64_t{sizeof(double)}, 1 << 29);
}

TEST(ShardWork, ASliceOfACutOnACpuFitsIntoACache)
{
    EXPECT_LE(cut_slice_elements(at::kCPU) * 4, 1 << 20);
}

TEST(ShardWork, ACutHasEachDifferenceAndTheSumOfTheirSquares)
{
    ShardWork work;
    auto const x = at::zeros({elements});
    work.begin(x);
    x.fill_(-0.5);
    auto const sums = work.begin_cut(first, x);
    EXPECT_EQ(sums.sumsq, 0.25 * elements);
    EXPECT_EQ(sums.nonfinite, 0);
    EXPECT_TRUE(work.delta(first).equal(at::full({elements}, 0.5F)));
}

TEST(ShardWork, ACutCountsTheValuesThatAreNotFinite)
{
    ShardWork work;
    auto const x = at::zeros({elements});
    work.begin(x);
    x[3].fill_(std::numeric_limits<float>::quiet_NaN());
    x[elements - 1].fill_(-std::numeric_limits<float>::infinity());
    EXPECT_EQ(work.begin_cut(first, x).nonfinite, 2);
}

TEST(ShardWork, ACutOfTheGreatestFiniteValuesIsFinite)
{
    ShardWork work;
    auto const x = at::zeros({elements});
    work.begin(x);
    x.fill_(std::numeric_limits<float>::max());
    auto const sums = work.begin_cut(first, x);
    EXPECT_TRUE(std::isfinite(sums.sumsq));
    EXPECT_EQ(sums.nonfinite, 0);
}

// New memory is slow.
TEST(ShardWork, TheNextCutAndModelUseTheMemoryOfForgottenOnes)
{
    ShardWork work;
    auto const x = at::zeros({8});
    work.begin(x);
    (void)work.begin_cut(first, x);
    work.end_cut(first, true, x);
    auto const* const delta = work.delta(first).const_data_ptr();
    auto const* const anchor = work.anchor().const_data_ptr();
    work.forget({first});
    auto const theta = work.room(x);
    EXPECT_EQ(theta.const_data_ptr(), delta);
    work.adopt(theta.fill_(3), false, x);
    EXPECT_TRUE(x.equal(at::full({8}, 3.0F)));
    x.fill_(1);
    (void)work.begin_cut(first, x);
    EXPECT_EQ(work.delta(first).const_data_ptr(), anchor);
    EXPECT_TRUE(work.delta(first).equal(at::full({8}, 2.0F)));
}

TEST(ShardWork, ASecondCutOfOneNumberIsAnError)
{
    ShardWork work;
    auto const x = at::zeros({8});
    work.begin(x);
    (void)work.begin_cut(first, x);
    EXPECT_THROW((void)work.begin_cut(first, x), std::logic_error);
}

}  // namespace
}  // namespace curtail::trainer
