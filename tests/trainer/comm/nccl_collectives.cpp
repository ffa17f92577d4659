// SPDX-License-Identifier: Apache-2.0
// NcclCollectives with a double of NCCL and CUDA: same results as MPI, in the order of the streams.
// How they fail: nccl_failures.cpp.
#include "trainer/comm/nccl_collectives.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "trainer/comm/mpi_collectives.hpp"
#include "trainer/comm/nccl_double.hpp"

namespace curtail::comm {
namespace {

using test::NcclDouble;
using testing::ElementsAre;
using Floats = std::vector<float>;

struct NcclCollectives : testing::Test {
    std::unique_ptr<Collectives> host{mpi_collectives()};
    NcclDouble gpu;
    std::unique_ptr<Collectives> ranks{
        nccl_collectives(*host, gpu.api(), {.device = 3, .compute = gpu.compute()})};

    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(host->size()); }
    [[nodiscard]] float sum_of_numbers() const
    {
        auto const sum = size() * (size() + 1) / 2;
        return static_cast<float>(sum);
    }
    // 1 on rank 0, 2 on rank 1, ...
    [[nodiscard]] float own_number() const { return static_cast<float>(host->rank() + 1); }

    // Integers that depend on the rank; their sums are exact in any order.
    [[nodiscard]] Floats integers(std::size_t count) const
    {
        Floats values(count);
        std::iota(values.begin(), values.end(), own_number());
        return values;
    }

    void TearDown() override { EXPECT_EQ(gpu.misuses(), 0); }
};

constexpr std::size_t counts[] = {0, 1, 3, 1000, 70'001};

TEST_F(NcclCollectives, WorkOnTheMemoryOfTheirDevice)
{
    EXPECT_EQ(ranks->memory(), Memory::device);
    EXPECT_EQ(ranks->rank(), host->rank());
    EXPECT_EQ(ranks->size(), host->size());
    EXPECT_EQ(gpu.count("set_device 3"), 1);
}

TEST_F(NcclCollectives, SumAsMpiDoes)
{
    for (auto const count : counts) {
        auto expected = integers(count);
        auto found = expected;
        host->all_reduce_sum(std::span<float>(expected));
        ranks->all_reduce_sum(std::span<float>(found));
        ranks->synchronize();
        EXPECT_EQ(found, expected) << count;
    }
}

TEST_F(NcclCollectives, SumFractionsAsMpiDoesExceptForRounding)
{
    std::mt19937 random(static_cast<unsigned>(ranks->rank()));
    std::normal_distribution<float> normal;
    Floats expected(5000);
    for (auto& value : expected) value = normal(random);
    auto found = expected;
    host->all_reduce_sum(std::span<float>(expected));
    ranks->all_reduce_sum(std::span<float>(found));
    ranks->synchronize();
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5);
}

TEST_F(NcclCollectives, ScatterSumsAsMpiDoes)
{
    for (auto const count : counts) {
        auto const all = integers(size() * count);
        Floats expected(count);
        Floats found(count, -1);
        host->reduce_scatter_sum(all, expected);
        ranks->reduce_scatter_sum(all, found);
        ranks->synchronize();
        EXPECT_EQ(found, expected) << count;
    }
}

TEST_F(NcclCollectives, GatherAsMpiDoes)
{
    for (auto const count : counts) {
        auto const own = integers(count);
        Floats expected(size() * count);
        Floats found(size() * count, -1);
        host->all_gather(own, expected);
        ranks->all_gather(own, found);
        ranks->synchronize();
        EXPECT_EQ(found, expected) << count;
    }
}

TEST_F(NcclCollectives, GatherFromTheirOwnChunkOfTheResult)
{
    Floats all(size() * 5, -1);
    auto const own = std::span(all).subspan(static_cast<std::size_t>(ranks->rank()) * 5, 5);
    std::fill(own.begin(), own.end(), own_number());
    ranks->all_gather(own, all);
    ranks->synchronize();
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const number = i / 5 + 1;
        EXPECT_EQ(all[i], static_cast<float>(number)) << i;
    }
}

TEST_F(NcclCollectives, BroadcastTheRootsNumbers)
{
    for (int root = 0; root < ranks->size(); ++root)
        for (auto const count : counts) {
            Floats values(count, ranks->rank() == root ? 0.1F : -1.F);
            ranks->broadcast(std::span<float>(values), root);
            ranks->synchronize();
            EXPECT_EQ(values, Floats(count, 0.1F)) << root;
        }
}

TEST_F(NcclCollectives, ExchangeSmallThingsInHostMemory)
{
    std::vector<double> doubles{0.5, own_number()};
    ranks->all_reduce_sum(std::span<double>(doubles));
    EXPECT_THAT(doubles, ElementsAre(0.5 * static_cast<double>(size()), sum_of_numbers()));
    EXPECT_EQ(ranks->all_reduce_max(ranks->rank()), ranks->size() - 1);
    EXPECT_EQ(broadcast_text(*ranks, ranks->rank() == 0 ? "stop" : "ignored", 0), "stop");
    ranks->barrier();
    EXPECT_EQ(gpu.count("all_reduce_sum on nccl"), 0);
}

TEST_F(NcclCollectives, RefuseWrongSizesAndRoots)
{
    Floats own(3);
    Floats all(3 * size() + 1);
    EXPECT_THROW(ranks->reduce_scatter_sum(all, own), std::logic_error);
    EXPECT_THROW(ranks->all_gather(own, all), std::logic_error);
    EXPECT_THROW(ranks->broadcast(std::span<float>(own), ranks->size()), std::logic_error);
    EXPECT_THROW(ranks->broadcast(std::span<float>(own), -1), std::logic_error);
    EXPECT_NO_THROW(ranks->barrier());
}

TEST_F(NcclCollectives, BeginAfterTheWorkThatWasEnqueuedBefore)
{
    Floats values(4);
    gpu.hold();
    gpu.enqueue([&] { std::fill(values.begin(), values.end(), own_number()); });
    ranks->all_reduce_sum(std::span<float>(values));
    gpu.progress();
    EXPECT_EQ(values, Floats(4, 0)) << "it did not return at once, or began too early";
    gpu.release();
    ranks->synchronize();
    EXPECT_EQ(values, Floats(4, sum_of_numbers()));
}

TEST_F(NcclCollectives, WorkAfterFinishSeesTheSums)
{
    Floats values(4, own_number());
    Floats seen(4, -1);
    gpu.hold();
    ranks->all_reduce_sum(std::span<float>(values));
    ranks->finish();
    gpu.enqueue([&] { seen = values; });
    gpu.release();
    ranks->synchronize();
    gpu.progress();
    EXPECT_EQ(seen, Floats(4, sum_of_numbers()));
}

TEST_F(NcclCollectives, WorkAfterFinishOfTheFirstOperationDoesNotWaitForTheSecond)
{
    Floats first(4, own_number());
    Floats second(4, own_number());
    Floats seen(4, -1);
    ranks->all_reduce_sum(std::span<float>(first));
    auto const operations = ranks->enqueued();
    bool const late = ranks->rank() == 0;
    if (!late) ranks->all_reduce_sum(std::span<float>(second));
    ranks->finish(operations);
    gpu.enqueue([&] { seen = first; });
    ranks->wait_until([&] {
        gpu.progress();
        return seen != Floats(4, -1);
    });
    EXPECT_EQ(seen, Floats(4, sum_of_numbers()));
    if (late) ranks->all_reduce_sum(std::span<float>(second));
    ranks->synchronize();
    EXPECT_EQ(second, Floats(4, sum_of_numbers()));
    EXPECT_EQ(ranks->enqueued(), 2U);
}

// The double would show if finish() were not needed.
TEST_F(NcclCollectives, WorkWithoutFinishDoesNotWait)
{
    Floats values(4, own_number());
    Floats seen(4, -1);
    gpu.hold();
    ranks->all_reduce_sum(std::span<float>(values));
    gpu.enqueue([&] { seen = values; });
    gpu.release();
    gpu.progress();
    EXPECT_NE(seen, Floats(4, -1));
    ranks->synchronize();
}

TEST_F(NcclCollectives, OrderTheStreamsByEvents)
{
    auto const before = gpu.calls().size();
    Floats values(4, own_number());
    ranks->all_reduce_sum(std::span<float>(values));
    ranks->finish();
    auto const& calls = gpu.calls();
    EXPECT_THAT(std::vector(calls.begin() + static_cast<std::ptrdiff_t>(before), calls.end()),
                ElementsAre("event on compute", "nccl waits", "all_reduce_sum on nccl",
                            "event on nccl", "event on nccl", "compute waits"));
    ranks->synchronize();
}

TEST_F(NcclCollectives, SeveralOperationsRunInTheirOrder)
{
    Floats own(2, own_number());
    Floats all(2 * size());
    for (int repeat = 0; repeat < 20; ++repeat) {
        ranks->all_reduce_sum(std::span<float>(own));
        ranks->all_gather(own, all);
        ranks->broadcast(std::span<float>(own), 0);
    }
    ranks->synchronize();
    float expected = sum_of_numbers();
    for (int repeat = 1; repeat < 20; ++repeat) expected *= static_cast<float>(size());
    EXPECT_EQ(own, Floats(2, expected));
    EXPECT_EQ(all, Floats(2 * size(), expected));
}

TEST_F(NcclCollectives, UseTheirEventsAgain)
{
    Floats values(2, 0);
    auto const once = [&] {
        ranks->all_reduce_sum(std::span<float>(values));
        ranks->finish();
        ranks->synchronize();
    };
    once();
    auto const live = gpu.live();
    for (int repeat = 0; repeat < 10; ++repeat) once();
    EXPECT_EQ(gpu.live(), live);
}

TEST_F(NcclCollectives, EndTheCommunicatorTogether)
{
    Floats values(4, own_number());
    ranks->all_reduce_sum(std::span<float>(values));
    ranks->synchronize();
    ranks.reset();
    EXPECT_EQ(gpu.count("comm_finalize"), 1);
    EXPECT_EQ(gpu.count("comm_destroy"), 1);
    EXPECT_EQ(gpu.count("comm_abort"), 0);
    EXPECT_EQ(gpu.live(), 0);
}

// A nonblocking function of NCCL may enqueue its operation after it has returned. An event that is
// recorded too early would be before the operation.
TEST(NcclInProgress, OperationsAreWaitedForUntilTheyAreEnqueued)
{
    auto const host = mpi_collectives();
    NcclDouble gpu({.polls = 5});
    auto ranks = nccl_collectives(*host, gpu.api(), {.compute = gpu.compute()});
    Floats values(4, 1);
    ranks->all_reduce_sum(std::span<float>(values));
    ranks->synchronize();
    EXPECT_EQ(values, Floats(4, static_cast<float>(ranks->size())));
    ranks.reset();
    EXPECT_EQ(gpu.misuses(), 0);
    EXPECT_EQ(gpu.live(), 0);
}

TEST(NcclWithoutMpi, ASingleProcessUsesItsGpu)
{
    auto const all = mpi_collectives();
    NcclDouble gpu;  // on all ranks, since its constructor is collective
    if (all->size() > 1) GTEST_SKIP() << "for one rank";
    auto const host = single_process();
    auto const ranks = nccl_collectives(*host, gpu.api(), {.compute = gpu.compute()});
    Floats const own{1, 2};
    Floats copy(2);
    ranks->reduce_scatter_sum(own, copy);
    ranks->synchronize();
    EXPECT_EQ(copy, own);
}

}  // namespace
}  // namespace curtail::comm
