// SPDX-License-Identifier: Apache-2.0
// Cuts and adopted models on several ranks, each of which has its own ranges.
#include "trainer/engine/rank_work.hpp"

#include <ATen/ops/full_like.h>
#include <ATen/ops/isfinite.h>
#include <gmock/gmock.h>

#include <cmath>

#include "trainer/comm/mpi_collectives.hpp"
#include "trainer/job/small_training.hpp"

namespace curtail::trainer {
namespace {

using testing::HasSubstr;

class RankWorkTest : public test::SmallTraining {
  protected:
    void SetUp() override
    {
        SmallTraining::SetUp();
        loader_.emplace(training_data());
        engine_.emplace(run_, *loader_, *ranks_, model::initial_parameters(run_.model, 1));
        work_.emplace(*engine_, *ranks_);
    }
    // A model whose element i is `factor` i. Only the leader has it.
    [[nodiscard]] std::vector<float> model(float factor)
    {
        if (!leads()) return {};
        std::vector<float> values(static_cast<std::size_t>(engine_->weights().numel()));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = factor * static_cast<float>(i);
        return values;
    }
    // A step: all weights change by `by`.
    void step(float by)
    {
        for (auto const& part : engine_->exchange().masters()) part.add_(by);
        engine_->masters_replaced();
    }
    [[nodiscard]] bool leads() const { return ranks_->rank() == 0; }
    [[nodiscard]] float weight(std::size_t i) { return engine_->weights().values()[i]; }

    std::unique_ptr<comm::Collectives> ranks_{comm::mpi_collectives()};
    std::optional<data::Loader> loader_;
    std::optional<Engine> engine_;
    std::optional<RankWork> work_;
};

TEST_F(RankWorkTest, ALoadedModelReachesAllRanks)
{
    work_->load(model(0.5));
    for (std::size_t i :
         {std::size_t{0}, std::size_t{1'000}, engine_->weights().values().size() - 1})
        EXPECT_EQ(weight(i), 0.5F * static_cast<float>(i));
}

TEST_F(RankWorkTest, ScatteringAlsoOverwritesThePaddingOfAShard)
{
    auto& exchange = engine_->exchange();
    auto const shard = at::full_like(exchange.master_values(), std::nanf(""));
    exchange.scatter(model(1), shard);
    EXPECT_TRUE(shard.isfinite().all().item<bool>());
}

TEST_F(RankWorkTest, ACutHasTheWorkSinceTheLastOne)
{
    work_->load(model(1));
    step(-0.5);
    auto const first = work_->cut({1}, true);
    auto const count = static_cast<double>(engine_->weights().numel());
    EXPECT_NEAR(first.sums.sumsq, 0.25 * count, 1e-9 * count);
    EXPECT_EQ(first.sums.nonfinite, 0);
    auto const second = work_->cut({2}, false);
    EXPECT_EQ(second.sums.sumsq, 0);
    if (!leads()) return;
    EXPECT_THAT(*first.delta, testing::Each(0.5F));
    EXPECT_EQ(first.anchor->at(7), 6.5F);
    EXPECT_THAT(*second.delta, testing::Each(0.0F));
    EXPECT_EQ(second.anchor, nullptr);
}

TEST_F(RankWorkTest, WithNothingUndecidedAndNoWorkTheAdoptedModelIsExact)
{
    work_->load(model(1));
    step(0.1F);
    (void)work_->cut({1}, false);
    work_->adopt(model(0.3F), {{1}}, false);
    EXPECT_EQ(weight(777), 0.3F * 777.0F);
}

TEST_F(RankWorkTest, UndecidedAndNewWorkAreAppliedToTheNewModel)
{
    work_->load(model(1));
    step(-1);
    (void)work_->cut({1}, false);  // d1 = 1
    step(-2);
    (void)work_->cut({2}, false);  // d2 = 2
    step(-4);                      // u = 4
    work_->adopt(model(2), {{1}}, true);
    EXPECT_EQ(weight(100), 200.0F - 2 - 4);
    auto const later = work_->cut({3}, false);
    if (leads()) { EXPECT_THAT(*later.delta, testing::Each(4.0F)); }
    work_->forget({{2}, {3}});
    work_->adopt(model(3), {}, false);
    EXPECT_EQ(weight(100), 300.0F);
}

// The value is on the last rank only.
TEST_F(RankWorkTest, ANonFiniteValueOnAnyRankDiscardsTheWorkOnAll)
{
    work_->load(model(1));
    step(-1);
    if (ranks_->rank() == ranks_->size() - 1)
        engine_->exchange().masters().back().fill_(std::numeric_limits<float>::quiet_NaN());
    auto const bad = engine_->exchange().masters().back().numel();
    engine_->masters_replaced();
    auto const made = work_->cut({1}, false);
    EXPECT_GT(made.sums.nonfinite, 0);
    EXPECT_TRUE(ranks_->rank() < ranks_->size() - 1 || made.sums.nonfinite == bad);
    EXPECT_EQ(weight(5), 5.0F) << "the last good weights";
    if (leads()) { EXPECT_THAT(*made.delta, testing::Each(0.0F)); }
}

TEST_F(RankWorkTest, TheSameCutCannotBeMadeTwice)
{
    work_->load(model(1));
    (void)work_->cut({1}, false);
    EXPECT_THROW((void)work_->cut({1}, false), std::logic_error);
}

TEST_F(RankWorkTest, WeightsThatDifferBetweenRanksEndTheTraining)
{
    if (ranks_->size() == 1) GTEST_SKIP() << "needs two ranks";
    work_->load(model(1));
    if (ranks_->rank() == 1) engine_->weights().values()[3] += 1e-6F;
    std::string why;
    try {
        (void)work_->cut({1}, false);
    } catch (comm::CommError const& error) {
        why = error.what();
        EXPECT_EQ(error.to_error().code, ExitCode::unavailable);
    }
    EXPECT_THAT(why, HasSubstr("the weights of rank 1 differ"));
}

}  // namespace
}  // namespace curtail::trainer
