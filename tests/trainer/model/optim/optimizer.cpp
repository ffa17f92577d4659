// SPDX-License-Identifier: Apache-2.0
// Schedules, and optimizer behaviour beyond the golden vectors: state that resumes bit-exactly.
#include "trainer/model/optim/optimizer.hpp"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "trainer/model/initialize.hpp"
#include "trainer/model/optim/whole_optimizer.hpp"

namespace curtail::optim {
namespace {

config::Model small_shape() { return {"small", 2, 32, 2, 1, 16, 50}; }

// Pseudo-random gradients, seeded by the step.
model::Parameters gradients_of_step(int step)
{
    model::Parameters gradients(small_shape());
    std::mt19937_64 random(static_cast<std::uint64_t>(step));
    std::normal_distribution<float> normal(0, 0.01F);
    for (auto& g : gradients.values()) g = normal(random);
    return gradients;
}

void train(Optimizer& optimizer, model::Parameters& weights, int from, int to)
{
    for (int s = from; s < to; ++s)
        test::step(optimizer, weights, gradients_of_step(s), {static_cast<double>(s), 20});
}

class Training : public testing::Test {
  protected:
    Optimizer optimizer = test::whole_optimizer(small_shape());
    model::Parameters weights = model::initial_parameters(small_shape(), 1);

    double step_with_mask(model::Parameters const& gradients, float skip)
    {
        return optimizer
            .step(test::ranges_in(weights.flat(), optimizer),
                  test::ranges_in(gradients.flat(), optimizer), {2, 20}, 1,
                  {at::full({}, skip, at::TensorOptions(at::kFloat))})
            .item<double>();
    }
};

TEST_F(Training, RestoredStateResumesBitExactly)
{
    train(optimizer, weights, 0, 5);
    auto const saved = test::state_of(optimizer);
    auto resumed_weights = weights.clone();
    train(optimizer, weights, 5, 9);

    auto resumed = test::whole_optimizer(small_shape());
    test::restore(resumed, saved);
    EXPECT_EQ(resumed.steps(), 5);
    train(resumed, resumed_weights, 5, 9);
    EXPECT_TRUE(at::equal(weights.flat(), resumed_weights.flat()));

    auto fresh = test::whole_optimizer(small_shape());
    auto other_weights = weights.clone();
    train(fresh, other_weights, 9, 10);
    train(optimizer, weights, 9, 10);
    EXPECT_FALSE(at::equal(weights.flat(), other_weights.flat())) << "the state has no effect";
}

TEST_F(Training, ResetGivesANewOptimizer)
{
    train(optimizer, weights, 0, 3);
    optimizer.reset();
    auto other_weights = weights.clone();
    auto fresh = test::whole_optimizer(small_shape());
    train(optimizer, weights, 3, 5);
    train(fresh, other_weights, 3, 5);
    EXPECT_TRUE(at::equal(weights.flat(), other_weights.flat()));
    EXPECT_EQ(optimizer.steps(), 2);
}

TEST_F(Training, ANewStateWarmsUpWithinARunOnly)
{
    auto const factor = [&](double position) {
        return optimizer.rates({position, 1000}).lr_factor;
    };
    EXPECT_EQ(factor(0), 1) << "the run begins";
    EXPECT_DOUBLE_EQ(factor(100), 0.1);
    auto const change = [&](Optimizer& one, double position) {
        auto changed = weights.clone();
        test::step(one, changed, gradients_of_step(100), {position, 1000});
        return changed.get("lm_head.weight").sub(weights.get("lm_head.weight"));
    };
    auto beginning = test::whole_optimizer(small_shape());
    auto const full = change(beginning, 0);
    EXPECT_TRUE(at::allclose(change(optimizer, 100), full.mul(0.1), 1e-2, 1e-7));
    EXPECT_DOUBLE_EQ(factor(150), 0.2) << "other sites have made steps meanwhile";
    auto const saved = test::state_of(optimizer);
    optimizer.reset();
    EXPECT_DOUBLE_EQ(factor(150), 0.1);
    test::restore(optimizer, saved);
    EXPECT_DOUBLE_EQ(factor(150), 0.2);
}

TEST_F(Training, ATriedStepChangesNothing)
{
    auto tried_weights = weights.clone();
    auto trying = test::whole_optimizer(small_shape());
    for (int step = 0; step < 2; ++step) {
        auto const gradients = gradients_of_step(step);
        trying.try_step(test::ranges_in(tried_weights.flat(), trying),
                        test::ranges_in(gradients.flat(), trying));
        train(optimizer, weights, step, step + 1);
        train(trying, tried_weights, step, step + 1);
    }
    EXPECT_TRUE(at::equal(weights.flat(), tried_weights.flat()));
}

TEST_F(Training, AMaskedStepChangesNothing)
{
    train(optimizer, weights, 0, 2);
    auto const weights_before = weights.flat().clone();
    auto const before = test::state_of(optimizer);
    model::Parameters gradients(small_shape());
    gradients.flat().fill_(std::numeric_limits<float>::quiet_NaN());
    step_with_mask(gradients, 1);
    EXPECT_TRUE(at::equal(weights.flat(), weights_before));
    for (auto const& [name, tensor] : test::state_of(optimizer).tensors)
        EXPECT_TRUE(at::equal(tensor, before.tensors.at(name))) << name;
    EXPECT_EQ(optimizer.steps(), 2);
}

TEST_F(Training, AStepReturnsTheSquaresOfTheChanges)
{
    for (float const skip : {0.0F, 1.0F}) {
        auto const before = weights.flat().clone();
        auto const squares = step_with_mask(gradients_of_step(1), skip);
        auto const change = weights.flat().sub(before).to(at::kDouble);
        auto const expected = change.mul(change).sum().item<double>();
        EXPECT_NEAR(squares, expected, 1e-5 * expected);
        EXPECT_EQ(expected == 0, skip == 1);
    }
}

TEST_F(Training, AMaskThatAllowsTheStepHasNoEffect)
{
    auto other_weights = weights.clone();
    auto other = test::whole_optimizer(small_shape());
    train(optimizer, weights, 0, 2);
    train(other, other_weights, 0, 2);
    train(other, other_weights, 2, 3);
    step_with_mask(gradients_of_step(2), 0);
    EXPECT_TRUE(at::equal(weights.flat(), other_weights.flat()));
    EXPECT_EQ(optimizer.steps(), 3);
}

TEST_F(Training, EveryParameterMovesAndWithoutGradientMatricesOnlyDecay)
{
    auto const before = weights.clone();
    train(optimizer, weights, 0, 1);
    for (auto const& [name, tensor] : weights.named())
        EXPECT_FALSE(at::equal(tensor, before.get(name))) << name;

    auto at_rest = before.clone();
    auto resting = test::whole_optimizer(small_shape());
    test::step(resting, at_rest, model::Parameters(small_shape()), {0, 20});
    auto const rates = optimizer.rates({0, 20});
    auto const* name = "transformer.h.1.attn.c_q.weight";
    EXPECT_TRUE(at_rest.get(name).allclose(
        before.get(name).mul(1 - rates.muon * rates.weight_decay), 1e-5, 1e-8));
    EXPECT_TRUE(at::equal(at_rest.head(), before.head()));
}

TEST(Schedule, RateFallsOverTheLastFortyPercentOnly)
{
    EXPECT_EQ(lr_factor({0, 100}, 0.4, 0), 1);
    EXPECT_EQ(lr_factor({60, 100}, 0.4, 0), 1);
    EXPECT_NEAR(lr_factor({80, 100}, 0.4, 0), 0.5, 1e-15);
    EXPECT_NEAR(lr_factor({80, 100}, 0.4, 0.1), 0.55, 1e-15);
    EXPECT_EQ(lr_factor({100, 100}, 0.4, 0), 0);
    EXPECT_EQ(lr_factor({250, 100}, 0.4, 0.1), 0.1) << "the last rate holds beyond the end";
    EXPECT_EQ(lr_factor({99, 100}, 0, 0), 1);
    EXPECT_NEAR(lr_factor({20, 23}, 0.4, 0), 3.0 / 9, 1e-15) << "9.2 steps round to 9";
    EXPECT_NEAR(lr_factor({60.5, 100}, 0.4, 0), 39.5 / 40, 1e-15) << "a fraction of a step counts";
}

TEST(Schedule, MomentumRisesAndDecayFalls)
{
    EXPECT_NEAR(muon_momentum({0, 1000}), 0.85, 1e-15);
    EXPECT_NEAR(muon_momentum({150, 1000}), 0.9, 1e-15);
    EXPECT_NEAR(muon_momentum({3000, 1000}), 0.95, 1e-15);
    EXPECT_NEAR(muon_weight_decay({0, 10}, 0.2, 12), 0.2, 1e-15);
    EXPECT_NEAR(muon_weight_decay({5, 10}, 0.2, 2), 3.6, 1e-12);
    EXPECT_EQ(muon_weight_decay({11, 10}, 0.2, 2), 0);
}

TEST(Schedule, RatesScaleWithBatchAndWidth)
{
    auto const shape = config::model_of_depth(12);  // C = 768
    config::OptimizerSettings settings;
    auto const reference = rates_at({0, 100}, shape, settings, Tokens{524'288});
    EXPECT_NEAR(reference.muon, 0.02, 1e-15);
    EXPECT_NEAR(reference.head, 0.004, 1e-15);
    EXPECT_NEAR(reference.embedding, 0.3, 1e-15);
    EXPECT_NEAR(reference.resid, 0.005, 1e-15);
    EXPECT_NEAR(reference.x0, 0.5, 1e-15);
    EXPECT_NEAR(rates_at({0, 100}, shape, settings, Tokens{131'072}).muon, 0.01, 1e-15);
    EXPECT_NEAR(rates_at({0, 100}, config::model_of_depth(3), settings, Tokens{524'288}).head,
                0.008, 1e-15);
    EXPECT_NEAR(rates_at({0, 100}, config::model_of_depth(3), settings, Tokens{524'288}).muon, 0.02,
                1e-15);
    settings.lr_scale = 0.5;
    EXPECT_NEAR(rates_at({90, 100}, shape, settings, Tokens{1}).x0, 0.25 * 0.25, 1e-15);
}

TEST(Schedule, WarmUpIsShorterNearTheBeginning)
{
    EXPECT_EQ(warm_up(0, 0), 1);
    EXPECT_EQ(warm_up(0, 3), 0.25);
    EXPECT_EQ(warm_up(2, 3), 0.75);
    EXPECT_EQ(warm_up(3, 3), 1);
    EXPECT_EQ(warm_up(0, 1000), 0.1);
    EXPECT_EQ(warm_up(1000, 1000), 1);
    EXPECT_EQ(warm_up(5, -5), 1) << "a site has made more steps than the run counts";
}

TEST(Schedule, ProgressIsCountedInTokens)
{
    config::OptimizerSettings settings;
    auto const at = progress_of({{250'000}, {500'000}}, settings, Tokens{2'000});
    EXPECT_EQ(at.position, 125);
    EXPECT_EQ(at.length, 250) << "the schedule ends with the run";
    settings.schedule = {1'000'000};
    EXPECT_EQ(progress_of({{250'000}, {500'000}}, settings, Tokens{2'000}).length, 500);
}

}  // namespace
}  // namespace curtail::optim
