// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/gpu_identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "trainer/comm/mpi_collectives.hpp"
#include "trainer/comm/nccl_double.hpp"

namespace curtail::comm {
namespace {

using testing::Optional;
using testing::Pair;

class GpusOfRanks : public testing::Test {
  protected:
    void TearDown() override { unsetenv("NCCL_HOSTID"); }
    // The bus id of GPU `device` of this rank's node.
    [[nodiscard]] std::string bus_id(int device) const
    {
        return gpu_identity(gpu_.api(), device).bus_id;
    }
    [[nodiscard]] int rank() const { return host_->rank(); }
    [[nodiscard]] bool several() const { return host_->size() > 1; }
    // As if each pair of ranks had a node of its own.
    void two_ranks_per_node() const
    {
        setenv("NCCL_HOSTID", ("node " + std::to_string(rank() / 2)).c_str(), 1);
    }

    std::unique_ptr<Collectives> host_{mpi_collectives()};
    test::NcclDouble gpu_;
};

TEST_F(GpusOfRanks, HaveANameAndAnAddress)
{
    auto const found = gpu_identity(gpu_.api(), 3);
    EXPECT_EQ(found.name, "NVIDIA H100 PCIe");
    EXPECT_EQ(found.bus_id, "0000:03:00.0");
    EXPECT_EQ(gpu_identity(gpu_.api(), -1).name, "") << "CUDA fails";
}

TEST_F(GpusOfRanks, DifferIfEachRankHasItsOwn)
{
    EXPECT_EQ(ranks_on_one_gpu(*host_, bus_id(rank())), std::nullopt);
}

TEST_F(GpusOfRanks, AreTheSameIfAllRanksSeeOneGpu)
{
    auto const found = ranks_on_one_gpu(*host_, bus_id(0));
    if (several()) EXPECT_THAT(found, Optional(Pair(0, 1)));
    else EXPECT_EQ(found, std::nullopt);
}

TEST_F(GpusOfRanks, AreTheSameIfTheLastTwoRanksShareOne)
{
    auto const last = host_->size() - 1;
    auto const found = ranks_on_one_gpu(*host_, bus_id(std::min(rank(), std::max(last - 1, 0))));
    if (several()) EXPECT_THAT(found, Optional(Pair(last - 1, last)));
    else EXPECT_EQ(found, std::nullopt);
}

TEST_F(GpusOfRanks, MayHaveTheSameAddressOnDifferentNodes)
{
    two_ranks_per_node();
    EXPECT_EQ(ranks_on_one_gpu(*host_, bus_id(rank() % 2)), std::nullopt);
}

// --gpus-per-task=1: the processes of a node other than the first see one GPU.
TEST_F(GpusOfRanks, AreTheSameIfTheRanksOfTheSecondNodeSeeOneGpu)
{
    if (host_->size() < 4) GTEST_SKIP() << "there is one node";
    two_ranks_per_node();
    EXPECT_THAT(ranks_on_one_gpu(*host_, bus_id(rank() == 1 ? 1 : 0)), Optional(Pair(2, 3)));
}

TEST_F(GpusOfRanks, DifferIfTheirAddressesAreUnknown)
{
    EXPECT_EQ(ranks_on_one_gpu(*host_, ""), std::nullopt);
}

}  // namespace
}  // namespace curtail::comm
