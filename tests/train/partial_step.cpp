// SPDX-License-Identifier: Apache-2.0
// A stop request in the middle of a step, on several ranks.
#include "comm/mpi_collectives.hpp"
#include "model/update_error.hpp"
#include "train/small_training.hpp"

namespace curtail::train {
namespace {

class PartialStep : public test::SmallTraining {
  protected:
    // Four blocks of four rows per step; a micro-batch of all ranks has one block.
    void SetUp() override
    {
        SmallTraining::SetUp();
        run_.training.device_batch_rows = 4 / ranks_->size();
    }
    struct Trained {
        StepOutcome outcome;
        bool stop_requested{};
        model::Parameters weights;
        int asked{};  // how often the engine asked whether to stop
    };
    // A step on `blocks`, in which rank `stopped` is asked to stop from the question `from` on.
    Trained train(rounds::Ranges const& blocks, int stopped, int from)
    {
        auto loader = training_data();
        Engine engine(run_, loader, *ranks_, model::initial_parameters(run_.model, 1));
        Trained trained{{}, false, engine.weights().clone(), 0};
        auto const begun = engine.step(
            blocks, {}, [&] { return ++trained.asked >= from && ranks_->rank() == stopped; });
        EXPECT_TRUE(begun) << begun.error().message();
        trained.stop_requested = begun->stop_requested;
        trained.outcome = engine.take_outcome().value();
        trained.weights = engine.weights().clone();
        return trained;
    }

    std::unique_ptr<comm::Collectives> ranks_{comm::mpi_collectives()};
};

constexpr int never = 1000;

TEST_F(PartialStep, WithoutAStopRequestUsesAllBlocks)
{
    auto const whole = train({{0, 4}}, 0, never);
    EXPECT_EQ(whole.outcome.blocks, (rounds::Ranges{{0, 4}}));
    EXPECT_FALSE(whole.stop_requested);
    EXPECT_EQ(whole.asked, 4);
    EXPECT_DOUBLE_EQ(whole.outcome.lr_factor, 1);
}

TEST_F(PartialStep, EndsAfterTheMicroBatchInWhichAnyRankIsAskedToStop)
{
    auto const partial = train({{0, 4}}, ranks_->size() - 1, 2);
    EXPECT_EQ(partial.outcome.blocks, (rounds::Ranges{{0, 2}}));
    EXPECT_EQ(partial.outcome.tokens, Tokens{2 * 128});
    EXPECT_TRUE(partial.stop_requested);
    EXPECT_EQ(partial.asked, 2);
}

TEST_F(PartialStep, IsAStepOnItsBlocksWithASmallerLearningRate)
{
    auto const partial = train({{0, 4}}, 0, 2);
    auto const same = train({{0, 2}}, 0, never);
    EXPECT_DOUBLE_EQ(partial.outcome.lr_factor, 0.5);
    EXPECT_DOUBLE_EQ(same.outcome.lr_factor, 0.5);
    EXPECT_NEAR(partial.outcome.loss, same.outcome.loss, 1e-6);
    auto const before = model::initial_parameters(run_.model, 1);
    using curtail::test::same_update;
    using curtail::test::update_error;
    EXPECT_LT(update_error(partial.weights, same.weights, before), same_update);
    auto const whole = train({{0, 4}}, 0, never);
    EXPECT_GT(update_error(partial.weights, whole.weights, before), same_update);
}

}  // namespace
}  // namespace curtail::train
