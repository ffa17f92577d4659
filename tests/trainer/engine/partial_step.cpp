// SPDX-License-Identifier: Apache-2.0
// A stop request in the middle of a step, on several ranks.
#include <ATen/ops/equal.h>

#include "support/forwarding_collectives.hpp"
#include "trainer/comm/mpi_collectives.hpp"
#include "trainer/job/small_training.hpp"
#include "trainer/model/update_error.hpp"

namespace curtail::trainer {
namespace {

// The wait number `at`, counted from 1, takes until the rank is asked to stop.
class StopsDuringAWait final : public curtail::test::ForwardingCollectives {
  public:
    StopsDuringAWait(Collectives& inner, int at) : ForwardingCollectives(inner), at_(at) {}
    void wait_until(std::function<bool()> const& done) override
    {
        stopped_ = stopped_ || ++waits_ == at_;
        ForwardingCollectives::wait_until(done);
    }
    [[nodiscard]] int all_reduce_max(int value) override
    {
        ++agreements_;
        return ForwardingCollectives::all_reduce_max(value);
    }
    [[nodiscard]] bool stopped() const { return stopped_; }
    [[nodiscard]] int agreements() const { return agreements_; }

  private:
    int at_;
    int waits_{0};
    int agreements_{0};
    bool stopped_{false};
};

class PartialStep : public test::SmallTraining {
  protected:
    // Four blocks of four rows per step; a micro-batch of all ranks has one block.
    void SetUp() override
    {
        SmallTraining::SetUp();
        run_.training.device_batch_rows = 4 / ranks_->size();
    }
    struct Trained {
        std::optional<StepOutcome> outcome;
        bool stop_requested{};
        model::Parameters weights;
        int asked{};  // how often the engine asked whether to stop
    };
    Trained train(protocol::Ranges const& blocks, std::function<bool(int asked)> const& stop_here,
                  comm::Collectives& ranks)
    {
        auto loader = training_data();
        Engine engine(run_, loader, ranks, model::initial_parameters(run_.model, 1),
                      {.whole_steps_only = whole_steps_only_});
        Trained trained{{}, false, engine.weights().clone(), 0};
        auto const begun = engine.step(blocks, {}, [&] { return stop_here(++trained.asked); });
        EXPECT_TRUE(begun) << begun.error().message();
        trained.stop_requested = begun->stop_requested;
        trained.outcome = engine.take_outcome();
        EXPECT_EQ(begun->blocks, trained.outcome ? trained.outcome->blocks : protocol::Ranges{});
        trained.weights = engine.weights().clone();
        return trained;
    }
    // A step on `blocks`, in which rank `stopped` is asked to stop from the question `from` on.
    Trained train(protocol::Ranges const& blocks, int stopped, int from)
    {
        return train(
            blocks, [&](int asked) { return asked >= from && ranks_->rank() == stopped; }, *ranks_);
    }
    // A step in which the last rank is asked to stop during its wait number `at`.
    Trained train_with_stop_during(int at)
    {
        StopsDuringAWait ranks(*ranks_, ranks_->rank() == ranks_->size() - 1 ? at : never);
        return train(
            {{0, 4}}, [&](int) { return ranks.stopped(); }, ranks);
    }

    static constexpr int never = 1000;
    bool whole_steps_only_{false};
    std::unique_ptr<comm::Collectives> ranks_{comm::mpi_collectives()};
};

TEST_F(PartialStep, WithoutAStopRequestUsesAllBlocks)
{
    auto const whole = train({{0, 4}}, 0, never);
    EXPECT_EQ(whole.outcome->blocks, (protocol::Ranges{{0, 4}}));
    EXPECT_FALSE(whole.stop_requested);
    EXPECT_EQ(whole.asked, 5);
    EXPECT_DOUBLE_EQ(whole.outcome->lr_factor, 1);
}

TEST_F(PartialStep, EndsBeforeTheMicroBatchAtWhichAnyRankIsAskedToStop)
{
    auto const partial = train({{0, 4}}, ranks_->size() - 1, 3);
    EXPECT_EQ(partial.outcome->blocks, (protocol::Ranges{{0, 2}}));
    EXPECT_EQ(partial.outcome->tokens, Tokens{2L * 128});
    EXPECT_TRUE(partial.stop_requested);
    EXPECT_EQ(partial.asked, 3);
}

TEST_F(PartialStep, AfterTheLastMicroBatchIsWholeAllTheSame)
{
    auto const whole = train({{0, 4}}, ranks_->size() - 1, 5);
    EXPECT_EQ(whole.outcome->blocks, (protocol::Ranges{{0, 4}}));
    EXPECT_TRUE(whole.stop_requested);
}

TEST_F(PartialStep, BeforeTheFirstMicroBatchIsNoStep)
{
    auto const none = train({{0, 4}}, ranks_->size() - 1, 1);
    EXPECT_FALSE(none.outcome);
    EXPECT_TRUE(none.stop_requested);
    EXPECT_TRUE(at::equal(none.weights.flat(), model::initial_parameters(run_.model, 1).flat()));
}

TEST_F(PartialStep, IsNoStepIfOnlyWholeStepsCount)
{
    whole_steps_only_ = true;
    auto const none = train({{0, 4}}, ranks_->size() - 1, 3);
    EXPECT_FALSE(none.outcome);
    EXPECT_TRUE(none.stop_requested);
    EXPECT_TRUE(at::equal(none.weights.flat(), model::initial_parameters(run_.model, 1).flat()));
    EXPECT_EQ(train({{0, 3}}, 0, never).outcome->blocks, (protocol::Ranges{{0, 3}}))
        << "the last step of a stream may be short";
    EXPECT_EQ(train({{0, 4}}, 0, 5).outcome->blocks, (protocol::Ranges{{0, 4}}));
}

// The engine waits for a micro-batch before it enqueues the second one after it.
TEST_F(PartialStep, AStopDuringTheWaitLeavesOutTheMicroBatchAfterIt)
{
    EXPECT_EQ(train_with_stop_during(1).outcome->blocks, (protocol::Ranges{{0, 2}}));
    EXPECT_EQ(train_with_stop_during(2).outcome->blocks, (protocol::Ranges{{0, 3}}));
}

TEST_F(PartialStep, AStopDuringAWaitInsideABlockCompletesTheBlock)
{
    run_.rounds.block_tokens = Tokens{4L * 128};  // four micro-batches of all ranks
    auto const partial = train_with_stop_during(1);
    EXPECT_EQ(partial.outcome->blocks, (protocol::Ranges{{0, 1}}));
    EXPECT_EQ(partial.asked, 2);
}

TEST_F(PartialStep, TheRanksAgreeOncePerBlockAndTwiceAtTheEnd)
{
    for (std::int64_t const rows_per_block : {4, 16}) {
        run_.rounds.block_tokens = Tokens{rows_per_block * 32};
        StopsDuringAWait ranks(*ranks_, never);
        (void)train(
            {{0, 4}}, [](int) { return false; }, ranks);
        EXPECT_EQ(ranks.agreements(), 4 + 2) << "after the blocks, and after the update";
    }
}

TEST_F(PartialStep, IsAStepOnItsBlocksWithASmallerLearningRate)
{
    auto const partial = train({{0, 4}}, 0, 3);
    auto const same = train({{0, 2}}, 0, never);
    EXPECT_DOUBLE_EQ(partial.outcome->lr_factor, 0.5);
    EXPECT_DOUBLE_EQ(same.outcome->lr_factor, 0.5);
    EXPECT_NEAR(partial.outcome->loss, same.outcome->loss, 1e-6);
    auto const before = model::initial_parameters(run_.model, 1);
    using curtail::test::same_update;
    using curtail::test::update_error;
    EXPECT_LT(update_error(partial.weights, same.weights, before), same_update);
    auto const whole = train({{0, 4}}, 0, never);
    EXPECT_GT(update_error(partial.weights, whole.weights, before), same_update);
}

}  // namespace
}  // namespace curtail::trainer
