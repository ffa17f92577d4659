// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/rank_memory.hpp"

#include <gmock/gmock.h>

#include "trainer/comm/mpi_collectives.hpp"
#include "trainer/engine/free_memory.hpp"
#include "trainer/job/small_training.hpp"
#include "trainer/model/allocations.hpp"

namespace curtail::trainer {
namespace {

using testing::HasSubstr;

config::Run run_of_depth(std::int64_t depth, bool checkpoint)
{
    config::Run run;
    run.model = config::model_of_depth(depth);
    run.model.name = "d" + std::to_string(depth);
    run.training.checkpoint_activations = checkpoint;
    return run;
}

double gigabytes(Bytes bytes) { return static_cast<double>(bytes.value) / 1e9; }

class RankMemoryOfATraining : public test::SmallTraining {};

TEST_F(RankMemoryOfATraining, IsNearWhatARankAllocates)
{
    auto const ranks = comm::mpi_collectives();
    auto loader = training_data();
    run_.model = {"wide", 4, 256, 4, 4, run_.model.sequence, 300};
    run_.training.device_batch_rows = 1;
    auto weights = model::initial_parameters(run_.model, 1);
    auto const given = static_cast<std::int64_t>(weights.flat().nbytes());
    curtail::test::Allocations const allocations;
    Engine engine(run_, loader, *ranks, std::move(weights));
    ASSERT_TRUE(engine.step({{0, 1}}, {}, [] { return false; }));
    auto const measured = static_cast<double>(allocations.bytes() + given);
    auto const need = rank_memory(run_, ranks->size(), at::kFloat, false);
    auto const estimate = static_cast<double>(need.total().value - need.work.value);
    EXPECT_GT(estimate, 0.85 * measured) << measured;
    EXPECT_LT(estimate, 1.25 * measured) << measured;
}

TEST(RankMemory, OfTheReferencesModelFitsOnAGpu)
{
    auto const need = rank_memory(run_of_depth(20, false), 1, at::kBFloat16, true);
    EXPECT_NEAR(gigabytes(need.weights), 0.561 * 6, 0.01) << "2 + 4 bytes for each of 561 M";
    EXPECT_NEAR(gigabytes(need.optimizer), 0.561 * 8 + 0.168 * 4 + 2, 0.01);
    EXPECT_NEAR(gigabytes(need.work), 0.561 * 8, 0.01);
    EXPECT_EQ(need.exchange, Bytes{0}) << "there is one rank";
    EXPECT_LT(gigabytes(need.total()), 24);
}

TEST(RankMemory, OfDepth34FitsOn80GbWithCheckpoints)
{
    for (int const ranks : {1, 4}) {
        auto const keep = rank_memory(run_of_depth(34, false), ranks, at::kBFloat16, true);
        auto const recompute = rank_memory(run_of_depth(34, true), ranks, at::kBFloat16, true);
        EXPECT_LT(gigabytes(recompute.total()), 70) << ranks;
        EXPECT_GT(gigabytes(keep.row) - gigabytes(recompute.row), 2.5) << "the activations";
    }
}

TEST(RankMemory, OptimizerAndWorkAreSharedByTheRanks)
{
    auto const one = rank_memory(run_of_depth(26, true), 1, at::kBFloat16, true);
    auto const four = rank_memory(run_of_depth(26, true), 4, at::kBFloat16, true);
    EXPECT_EQ(four.weights, one.weights);
    EXPECT_LT(gigabytes(four.optimizer), gigabytes(one.optimizer) / 2);
    EXPECT_LT(gigabytes(four.work), gigabytes(one.work) / 3);
    EXPECT_GE(gigabytes(four.work), gigabytes(one.work) / 4);
}

TEST(RankMemory, OfTheExchangeGrowsLittleWithTheRanks)
{
    auto const few = rank_memory(run_of_depth(26, true), 4, at::kBFloat16, true);
    auto const many = rank_memory(run_of_depth(26, true), 16, at::kBFloat16, true);
    EXPECT_LT(gigabytes(many.exchange), 1.1 * gigabytes(few.exchange));
    EXPECT_LT(gigabytes(many.total()), gigabytes(few.total()));
}

TEST(RankMemory, ALargerModelIsRefused)
{
    auto const run = run_of_depth(26, false);
    auto const check = [&](DeviceMemory const& memory) {
        return check_memory(run, 2, at::kFloat, false, memory);
    };
    EXPECT_TRUE(check({Bytes{100'000'000'000}, 1}));
    EXPECT_TRUE(check({std::nullopt, 1})) << "the free memory is unknown";
    auto const refused = check({Bytes{10'000'000'000}, 1});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::unavailable);
    EXPECT_THAT(refused.error().message(),
                HasSubstr("the model d26 of " + std::to_string(run.model.parameters()) +
                          " parameters is larger than the memory"));
    EXPECT_THAT(refused.error().message(), HasSubstr("10.0 GB are free"));
    EXPECT_THAT(refused.error().message(), HasSubstr("set training.checkpoint_activations"));
    EXPECT_FALSE(check({Bytes{40'000'000'000}, 2})) << "two ranks share the memory";
}

TEST(FreeMemory, OfThisMachineIsKnown)
{
    auto const free = free_memory(c10::Device(at::kCPU));
    ASSERT_TRUE(free);
    EXPECT_GT(gigabytes(*free), 0.1);
}

}  // namespace
}  // namespace curtail::trainer
