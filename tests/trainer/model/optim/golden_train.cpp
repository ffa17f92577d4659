// SPDX-License-Identifier: Apache-2.0
// Twenty steps of the reference's training: losses, schedules, weights and optimizer state.
#include <gtest/gtest.h>

#include <algorithm>

#include "trainer/model/golden.hpp"
#include "trainer/model/losses.hpp"
#include "trainer/model/optim/whole_optimizer.hpp"

namespace curtail::optim {
namespace {

using test::record;
using test::relative;
using test::relative_to_update;

// Replays the reference's training from step_0, step by step.
class Replay {
  public:
    Replay(std::string const& file, bool bfloat16, std::unique_ptr<model::Kernels const> kernels)
        : golden(file),
          gpt(golden.parameters("step_0/weights"), {std::move(kernels)}),
          start(gpt.weights().clone()),
          steps(golden.integer("steps")),
          optimizer_(test::whole_optimizer(golden.shape(), settings(bfloat16), Tokens{1}))
    {
    }

    // Makes the next step and returns its mean loss.
    double step()
    {
        auto const accumulation = golden.integer("accumulation");
        auto const targets = targets_.narrow(0, done_ * accumulation, accumulation);
        auto const count = targets.ge(0).sum().item<double>();
        gpt.zero_gradients();
        test::LossSum loss;
        for (std::int64_t a = 0; a < accumulation; ++a)
            loss += test::accumulate_gradients(gpt, inputs_[done_ * accumulation + a], targets[a],
                                               1 / count);
        rates = optimizer_.rates(progress());
        test::step(optimizer_, gpt.weights(), gpt.gradients(), progress());
        ++done_;
        return loss.mean();
    }
    [[nodiscard]] test::WholeState state() const { return test::state_of(optimizer_); }

    test::Golden golden;
    model::Gpt gpt;
    model::Parameters start;
    std::int64_t steps;
    Rates rates;  // of the last step

  private:
    [[nodiscard]] BudgetProgress progress() const
    {
        return {static_cast<double>(done_), static_cast<double>(steps)};
    }
    // The file holds the decay for its depth, and a fixed scale instead of one from the batch
    // size.
    [[nodiscard]] config::OptimizerSettings settings(bool bfloat16) const
    {
        double const depth = 12.0 / static_cast<double>(golden.shape().layers);
        config::OptimizerSettings s;
        s.lr_scale = golden.number("lr_scale");
        s.weight_decay = golden.number("weight_decay") / (depth * depth);
        s.muon_bfloat16 = bfloat16;
        return s;
    }
    Optimizer optimizer_;
    at::Tensor inputs_{golden.tensor("inputs")};
    at::Tensor targets_{golden.tensor("targets")};
    std::int64_t done_{0};
};

// One sign in the mask of the cautious decay decides at step 2 of train_f32.h5 between two results.
// The file has one of them. Exact arithmetic has the other: the reference's formulas in double
// precision differ from the file by 5.9e-3 (median tensor) and 1.26e-4 (losses) at the last step.
// Rounding decides which one an implementation meets.
constexpr double allowance = 1.3;

// Differences of all weights from those of `group` in the file, relative to the update; sorted.
std::vector<std::pair<double, std::string>> differences(Replay const& replay,
                                                        std::string const& group)
{
    std::vector<std::pair<double, std::string>> found;
    for (auto const& [name, weight] : replay.gpt.weights().named()) {
        auto const expected = replay.golden.tensor(group + "/weights/" + name);
        found.emplace_back(relative_to_update(weight, expected, replay.start.get(name)), name);
    }
    std::sort(found.begin(), found.end());
    return found;
}

void expect_schedules(Replay const& replay, std::int64_t step)
{
    EXPECT_NEAR(replay.rates.lr_factor, replay.golden.tensor("lr_multiplier")[step].item<double>(),
                1e-12);
    EXPECT_NEAR(replay.rates.momentum, replay.golden.tensor("muon_momentum")[step].item<double>(),
                1e-12);
    EXPECT_NEAR(replay.rates.weight_decay,
                replay.golden.tensor("muon_weight_decay")[step].item<double>(), 1e-12);
}

struct KernelSet {
    char const* name;
    std::unique_ptr<model::Kernels const> (*make)();
};
void PrintTo(KernelSet const& set, std::ostream* out) { *out << set.name; }

class GoldenTrain : public testing::TestWithParam<KernelSet> {
  protected:
    // Records a difference under the name of the kernels.
    static void note(std::string const& what, double difference)
    {
        record(what + ", " + GetParam().name + " kernels", difference);
    }
};

TEST_P(GoldenTrain, Float32TrainingMatchesTheReference)
{
    Replay replay("train_f32.h5", false, GetParam().make());
    auto const losses = replay.golden.tensor("loss");
    double worst_loss = 0;
    for (std::int64_t s = 0; s < replay.steps; ++s) {
        worst_loss = std::max(worst_loss, std::abs(replay.step() - losses[s].item<double>()));
        expect_schedules(replay, s);
        auto const group = "step_" + std::to_string(s + 1);
        if (!replay.golden.has(group + "/weights/lm_head.weight")) continue;
        auto const found = differences(replay, group);
        EXPECT_LE(found.back().first, 5e-2) << group << " " << found.back().second;
        EXPECT_LE(found[(found.size() - 1) / 2].first, 5e-3 * allowance) << group << ", median";
        note("train_f32.h5 " + group + ", worst tensor", found.back().first);
        note("train_f32.h5 " + group + ", median tensor", found[(found.size() - 1) / 2].first);
    }
    EXPECT_LE(worst_loss, 1e-4 * allowance);
    note("train_f32.h5 loss", worst_loss);
    auto const last = "step_" + std::to_string(replay.steps) + "/optimizer/";
    double worst_state = 0;
    auto const state = replay.state();
    for (auto const& [name, tensor] : state.tensors) {
        auto const expected = replay.golden.tensor(last + name);
        worst_state = std::max(worst_state, relative(tensor, expected));
        EXPECT_LE(relative(tensor, expected), 5e-2) << name;
    }
    EXPECT_EQ(replay.golden.with_prefix(last).size(), state.tensors.size());
    EXPECT_EQ(state.steps, replay.steps);
    note("train_f32.h5 optimizer state, worst tensor", worst_state);
}

TEST_P(GoldenTrain, Bfloat16TrainingFromInitialWeightsMatchesTheReference)
{
    Replay replay("train.h5", true, GetParam().make());
    auto const losses = replay.golden.tensor("loss");
    double worst_loss = 0;
    for (std::int64_t s = 0; s < replay.steps; ++s) {
        worst_loss = std::max(worst_loss, std::abs(replay.step() - losses[s].item<double>()));
        expect_schedules(replay, s);
        auto const group = "step_" + std::to_string(s + 1);
        if (!replay.golden.has(group + "/weights/lm_head.weight")) continue;
        double worst = 0;
        for (auto const& [difference, name] : differences(replay, group)) {
            if (name.ends_with("_lambdas") && s + 1 < replay.steps) continue;
            worst = std::max(worst, difference);
            EXPECT_LE(difference, s == 0 ? 5e-2 : 0.15) << group << " " << name;
        }
        note("train.h5 " + group + ", worst tensor", worst);
    }
    EXPECT_LE(worst_loss, 1e-3);
    note("train.h5 loss", worst_loss);
}

INSTANTIATE_TEST_SUITE_P(Kernels, GoldenTrain,
                         testing::Values(KernelSet{"aten", model::aten_kernels},
                                         KernelSet{"cpu", model::cpu_kernels}),
                         [](auto const& set) { return std::string(set.param.name); });

}  // namespace
}  // namespace curtail::optim
