// SPDX-License-Identifier: Apache-2.0
// Steps whose outcomes the host learns late, exchanges that overlap with the passes, and ranks that
// run out of memory.
#include "trainer/engine/engine.hpp"

#include <ATen/ops/equal.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <limits>

#include "support/forwarding_collectives.hpp"
#include "support/forwarding_kernels.hpp"
#include "trainer/comm/mpi_collectives.hpp"
#include "trainer/comm/nccl_collectives.hpp"
#include "trainer/comm/nccl_double.hpp"
#include "trainer/job/small_training.hpp"
#include "trainer/model/allocations.hpp"
#include "trainer/model/memory_limit.hpp"
#include "trainer/model/update_error.hpp"

namespace curtail::trainer {
namespace {

constexpr auto nan = std::numeric_limits<float>::quiet_NaN();

// Collectives over the double of NCCL. The tensors are on the host, which has to wait where the
// compute stream of a GPU would.
class DeviceExchange {
  public:
    explicit DeviceExchange(comm::Collectives& host)
        : nccl_(comm::nccl_collectives(host, gpu_.api(), {.compute = gpu_.compute()})),
          waiting_(*nccl_)
    {
    }
    [[nodiscard]] comm::Collectives& ranks() { return waiting_; }
    [[nodiscard]] curtail::test::NcclDouble const& gpu() const { return gpu_; }

  private:
    class Waiting final : public curtail::test::ForwardingCollectives {
      public:
        using ForwardingCollectives::ForwardingCollectives;
        void finish() override { inner_.synchronize(); }
        void finish(std::uint64_t operations) override
        {
            if (operations > 0) inner_.synchronize();
        }
    };

    curtail::test::NcclDouble gpu_;
    std::unique_ptr<comm::Collectives> nccl_;
    Waiting waiting_;
};

// Fails if a micro-batch has more rows than fit, on one rank.
class LittleMemory final : public curtail::test::ForwardingKernels {
  public:
    LittleMemory(std::unique_ptr<model::Kernels const> inner, std::int64_t tokens)
        : ForwardingKernels(std::move(inner)), tokens_(tokens)
    {
    }
    void square_relu(at::Tensor const& f) const override
    {
        if (f.size(0) > tokens_)
            throw c10::OutOfMemoryError({"square_relu", __FILE__, __LINE__}, "CUDA out of memory");
        ForwardingKernels::square_relu(f);
    }

  private:
    std::int64_t tokens_;
};

class EngineTest : public test::SmallTraining {
  protected:
    void SetUp() override
    {
        SmallTraining::SetUp();
        loader_ = training_data();
    }
    [[nodiscard]] Engine make(comm::Collectives& ranks, EngineOptions options = {})
    {
        return {run_, *loader_, ranks, model::initial_parameters(run_.model, 1),
                std::move(options)};
    }
    // Makes a step on four blocks.
    static Result<BegunStep> step(Engine& engine, std::int64_t number)
    {
        return engine.step({{4 * number, 4 * number + 4}}, {Tokens{512 * number}, {}},
                           [] { return false; });
    }
    // How far the weights of `engine` are from those of `expected`, as a share of the update.
    [[nodiscard]] double error(Engine& engine, Engine& expected) const
    {
        return curtail::test::update_error(engine.weights(), expected.weights(),
                                           model::initial_parameters(run_.model, 1));
    }
    static std::vector<StepOutcome> outcomes(Engine& engine)
    {
        std::vector<StepOutcome> all;
        while (auto outcome = engine.take_outcome()) all.push_back(std::move(*outcome));
        return all;
    }

    std::unique_ptr<comm::Collectives> ranks_{comm::mpi_collectives()};
    std::optional<data::Loader> loader_;
};

TEST_F(EngineTest, LateOutcomesAreThoseOfTheSameSteps)
{
    auto engine = make(*ranks_);
    auto late = make(*ranks_, {.unknown_outcomes = 1});
    for (int number = 0; number < 3; ++number) {
        ASSERT_TRUE(step(engine, number));
        ASSERT_TRUE(step(late, number));
        auto const known = late.take_outcome();
        EXPECT_EQ(known.has_value(), number > 0);
        if (known) { EXPECT_EQ(known->progress.tokens, Tokens{512L * (number - 1)}); }
        EXPECT_FALSE(late.take_outcome());
    }
    late.finish_steps();
    auto const last = late.take_outcome();
    ASSERT_TRUE(last);
    auto const all = outcomes(engine);
    EXPECT_EQ(last->loss, all.back().loss);
    EXPECT_EQ(last->blocks, (protocol::Ranges{{8, 12}}));
    EXPECT_TRUE(at::equal(engine.weights().flat(), late.weights().flat()));
}

TEST_F(EngineTest, ABadStepThatIsNoticedLateChangesNothing)
{
    auto engine = make(*ranks_, {.unknown_outcomes = 1});
    ASSERT_TRUE(step(engine, 0));
    auto const before = engine.weights().flat().clone();
    auto const last = ranks_->size() - 1;
    auto& weights = engine.weights();
    if (ranks_->rank() == last) weights.embedding().fill_(nan);
    ASSERT_TRUE(step(engine, 1));
    engine.finish_steps();
    auto const all = outcomes(engine);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_TRUE(all[0].finite);
    EXPECT_FALSE(all[1].finite);
    EXPECT_GT(all[0].update_norm, 0);
    EXPECT_EQ(all[1].update_norm, 0);
    EXPECT_TRUE(at::equal(weights.flat(), before)) << "the masters replace the spoiled weights";
    EXPECT_EQ(engine.optimizer().steps(), 1);
}

TEST_F(EngineTest, TheEnergyOfAStepIsThatOfAllRanks)
{
    double const mine = 1.5 + ranks_->rank();
    bool readable = true;
    auto engine = make(*ranks_, {.take_energy_j = [&]() -> std::optional<double> {
        return readable ? std::optional(mine) : std::nullopt;
    }});
    ASSERT_TRUE(step(engine, 0));
    double expected = 0;
    for (int rank = 0; rank < ranks_->size(); ++rank) expected += 1.5 + rank;
    EXPECT_EQ(outcomes(engine).at(0).energy_j, expected);
    readable = ranks_->rank() > 0;
    ASSERT_TRUE(step(engine, 1));
    EXPECT_FALSE(outcomes(engine).at(0).energy_j) << "the first rank's meter cannot be read";
}

TEST_F(EngineTest, OverlappingExchangesGiveTheSameTraining)
{
    run_.model.layers = 5;  // four ranks exchange several at a time
    DeviceExchange device(*ranks_);
    auto engine = make(*ranks_);
    auto overlapping = make(device.ranks(), {.unknown_outcomes = 1});
    for (int number = 0; number < 3; ++number) {
        ASSERT_TRUE(step(engine, number));
        ASSERT_TRUE(step(overlapping, number));
    }
    overlapping.finish_steps();
    auto const expected = outcomes(engine);
    auto const found = outcomes(overlapping);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_NEAR(found[2].loss, expected[2].loss, 1e-5);
    EXPECT_LT(error(overlapping, engine), curtail::test::same_update);
    auto all = overlapping.weights().flat().clone();
    ranks_->broadcast(std::as_writable_bytes(std::span(all.mutable_data_ptr<float>(),
                                                       static_cast<std::size_t>(all.numel()))),
                      0);
    EXPECT_TRUE(at::equal(all, overlapping.weights().flat())) << "the ranks' weights differ";
}

// The weights are bfloat16, but not the factors of the residual stream.
TEST_F(EngineTest, FactorsOfTheResidualStreamKeepTheirDigits)
{
    run_.model.layers = 5;
    run_.training.precision = config::Precision::bf16;
    DeviceExchange device(*ranks_);
    for (auto* const ranks : {&*ranks_, &device.ranks()}) {
        auto engine = make(*ranks);
        for (int number = 0; number < 2; ++number) ASSERT_TRUE(step(engine, number));
        engine.finish_steps();
        engine.exchange().receive_all(engine.weights());
        auto const& scalars = engine.weights().scalars();
        EXPECT_FALSE(at::equal(scalars, scalars.to(at::kBFloat16).to(at::kFloat)));
        for (auto const& [name, shape, first, tensor] : engine.masters()) {
            if (name != "resid_lambdas" && name != "x0_lambdas") continue;
            auto const row = scalars[name == "x0_lambdas" ? 1 : 0];
            EXPECT_TRUE(at::equal(row.narrow(0, first, tensor.numel()), tensor)) << name;
        }
        auto of_leader = scalars.clone();
        ranks_->broadcast(std::span(of_leader.mutable_data_ptr<float>(),
                                    static_cast<std::size_t>(of_leader.numel())),
                          0);
        EXPECT_TRUE(at::equal(of_leader, scalars)) << "the ranks' factors differ";
    }
}

// Ranks without rows take part in all exchanges.
TEST_F(EngineTest, AStepWithFewerRowsThanRanksIsTheSameWithOverlap)
{
    run_.rounds.block_tokens = Tokens{run_.model.sequence};
    loader_ = training_data();
    DeviceExchange device(*ranks_);
    auto engine = make(*ranks_);
    auto overlapping = make(device.ranks());
    for (int number = 0; number < 2; ++number)
        for (auto* const each : {&engine, &overlapping})
            ASSERT_TRUE(each->step({{number, number + 1}}, {}, [] { return false; }));
    overlapping.finish_steps();
    EXPECT_EQ(outcomes(overlapping).at(1).tokens, Tokens{run_.model.sequence});
    EXPECT_LT(error(overlapping, engine), curtail::test::same_update);
}

// The exchanges begin in the last micro-batch, which the ranks then leave out.
TEST_F(EngineTest, AStepThatAStopCutShortIsTheSameWithOverlap)
{
    run_.training.device_batch_rows = 4 / ranks_->size();
    DeviceExchange device(*ranks_);
    auto engine = make(*ranks_);
    auto overlapping = make(device.ranks());
    for (auto* const each : {&engine, &overlapping}) {
        int asked = 0;
        auto const begun = each->step({{0, 4}}, {}, [&] { return ++asked == 4; });
        ASSERT_TRUE(begun);
        EXPECT_EQ(begun->blocks, (protocol::Ranges{{0, 3}}));
        ASSERT_TRUE(step(*each, 1));
    }
    overlapping.finish_steps();
    EXPECT_LT(error(overlapping, engine), curtail::test::same_update);
}

TEST_F(EngineTest, OverlappingExchangesSurviveARankWithoutEnoughMemory)
{
    auto kernels = model::kernels_for(at::kFloat, at::kCPU);
    if (ranks_->rank() == ranks_->size() - 1)
        kernels = std::make_unique<LittleMemory>(std::move(kernels), 3 * run_.model.sequence);
    DeviceExchange device(*ranks_);
    auto engine = make(*ranks_);
    auto little = make(device.ranks(), {.operators = model::Operators{std::move(kernels)}});
    ASSERT_TRUE(step(engine, 0));
    ASSERT_TRUE(step(little, 0));
    little.finish_steps();
    EXPECT_EQ(outcomes(little).at(0).device_rows, 2);
    EXPECT_LT(error(little, engine), curtail::test::same_update);
}

TEST_F(EngineTest, ARankWithoutEnoughMemoryHalvesTheMicroBatchesOfAll)
{
    configure(1, 0);
    auto const rows = 3;  // of 32 tokens; device_batch_rows is 16
    auto const last = ranks_->size() - 1;
    auto kernels = model::kernels_for(at::kFloat, at::kCPU);
    if (ranks_->rank() == last)
        kernels = std::make_unique<LittleMemory>(std::move(kernels), rows * run_.model.sequence);
    auto engine = make(*ranks_);
    auto little = make(*ranks_, {.operators = model::Operators{std::move(kernels)}});
    ASSERT_TRUE(step(engine, 0));
    ASSERT_TRUE(step(little, 0));
    EXPECT_EQ(outcomes(engine).at(0).device_rows, 16);
    auto const found = outcomes(little).at(0);
    EXPECT_EQ(found.device_rows, 2);
    EXPECT_EQ(found.blocks, (protocol::Ranges{{0, 4}}));
    EXPECT_LT(error(little, engine), curtail::test::same_update);
}

// Once a pass has run, less memory is left for the update.
TEST_F(EngineTest, MicroBatchesLeaveMemoryForTheUpdate)
{
    run_.model = {"wide", 1, 128, 2, 2, run_.model.sequence, 300};
    auto const peak_with = [&](std::int64_t rows) {
        run_.training.device_batch_rows = rows;
        curtail::test::Allocations const allocations;
        auto engine = make(*ranks_, {.try_update = true});
        EXPECT_TRUE(step(engine, 0));
        return allocations.peak();
    };
    auto const enough = peak_with(16);
    auto const for_one_row = peak_with(1);
    ASSERT_LT(for_one_row, enough);
    std::int64_t fewest = 16;
    for (int eighths = 8; eighths > 0; --eighths) {
        auto const limit = for_one_row + (enough - for_one_row) * eighths / 8;
        run_.training.device_batch_rows = 16;
        // One rank has less memory than the others.
        curtail::test::MemoryLimit const memory(ranks_->rank() == 0 ? limit : 2 * enough);
        auto engine = make(*ranks_, {.try_update = true});
        auto const begun = step(engine, 0);
        ASSERT_TRUE(begun) << "with " << limit << " bytes of " << enough
                           << " (one row: " << for_one_row << "): " << begun.error().message();
        fewest = std::min(fewest, outcomes(engine).at(0).device_rows);
    }
    EXPECT_LT(fewest, 16);
}

TEST_F(EngineTest, AnUpdateThatIsTriedChangesNothing)
{
    auto engine = make(*ranks_);
    auto trying = make(*ranks_, {.try_update = true});
    for (int number = 0; number < 2; ++number)
        for (auto* const each : {&engine, &trying}) ASSERT_TRUE(step(*each, number));
    EXPECT_EQ(trying.optimizer().steps(), 2);
    EXPECT_TRUE(at::equal(trying.weights().flat(), engine.weights().flat()));
}

// 16 rows per step, of which the ranks compute at most 8 at once.
TEST_F(EngineTest, ANumberOfRowsIsNewOnlyInTheStepThatComputesItFirst)
{
    run_.training.device_batch_rows = 8 / ranks_->size();
    auto engine = make(*ranks_);
    for (std::int64_t const blocks : {4, 4, 3, 3, 4, 1})
        ASSERT_TRUE(engine.step({{0, blocks}}, {}, [] { return false; }));
    std::vector<std::vector<std::int64_t>> found;
    for (auto const& outcome : outcomes(engine)) found.push_back(outcome.new_shapes);
    std::vector<std::int64_t> const of_a_block{4 / ranks_->size()};
    EXPECT_THAT(found,
                testing::ElementsAre(testing::IsEmpty(), testing::IsEmpty(), of_a_block,
                                     testing::IsEmpty(), testing::IsEmpty(), testing::IsEmpty()));
}

TEST_F(EngineTest, WithoutMemoryForOneRowTheStepFailsOnAllRanks)
{
    auto kernels = model::kernels_for(at::kFloat, at::kCPU);
    if (ranks_->rank() == 0) kernels = std::make_unique<LittleMemory>(std::move(kernels), 0);
    auto engine = make(*ranks_, {.operators = model::Operators{std::move(kernels)}});
    auto const before = engine.weights().flat().clone();
    auto const begun = step(engine, 0);
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, ExitCode::unavailable);
    EXPECT_THAT(begun.error().message(), testing::HasSubstr("not enough memory"));
    EXPECT_TRUE(at::equal(engine.weights().flat(), before));
    EXPECT_TRUE(outcomes(engine).empty());
}

}  // namespace
}  // namespace curtail::trainer
