// SPDX-License-Identifier: Apache-2.0
// The reference's training, on several ranks: each computes a share of the rows and updates its own
// ranges of the weights. Half-way, new optimizers take over the state of the old ones.
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "trainer/comm/mpi_collectives.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/engine/shard_exchange.hpp"
#include "trainer/model/golden.hpp"
#include "trainer/model/losses.hpp"
#include "trainer/model/optim/whole_optimizer.hpp"

namespace curtail::trainer {
namespace {

using test::relative_to_update;

constexpr double allowance = 1.3;  // as in trainer/model/optim/golden_train.cpp

class GoldenRanks : public testing::Test {
  protected:
    void SetUp() override
    {
        double const depth = 12.0 / static_cast<double>(golden.shape().layers);
        settings.lr_scale = golden.number("lr_scale");
        settings.weight_decay = golden.number("weight_decay") / (depth * depth);
        exchange.load(gpt.weights());
        begin_optimizer();
    }
    void begin_optimizer()
    {
        optimizer.emplace(golden.shape(), settings, Tokens{1}, shards.of(ranks->rank()));
    }

    // A new optimizer with the state of the old one.
    void resume()
    {
        auto const state = test::state_of(*optimizer);
        begin_optimizer();
        test::restore(*optimizer, state);
    }

    // The sum of the losses of this rank's rows.
    double accumulate(std::int64_t batch, double scale)
    {
        auto const input = inputs[batch];
        auto const share = data::rows_of_rank(input.size(0), ranks->rank(), ranks->size());
        if (share.size() == 0) return 0;
        return test::accumulate_gradients(
                   gpt, input.narrow(0, share.begin, share.size()).contiguous(),
                   targets[batch].narrow(0, share.begin, share.size()).contiguous(), scale)
            .sum;
    }

    // The mean loss of a step, over all ranks.
    double step(std::int64_t number)
    {
        auto const accumulation = golden.integer("accumulation");
        auto const count =
            targets.narrow(0, number * accumulation, accumulation).ge(0).sum().item<double>();
        gpt.zero_gradients();
        std::array<double, 1> loss{};
        for (std::int64_t a = 0; a < accumulation; ++a)
            loss[0] += accumulate(number * accumulation + a, 1 / count);
        ranks->all_reduce_sum(std::span<double>(loss));
        optimizer->step(exchange.masters(), exchange.sum(gpt.gradients()),
                        {static_cast<double>(number), static_cast<double>(steps)});
        exchange.distribute(gpt.weights());
        return loss[0] / count;
    }

    [[nodiscard]] std::vector<double> differences(std::string const& group) const
    {
        std::vector<double> found;
        for (auto const& [name, weight] : gpt.weights().named())
            found.push_back(relative_to_update(weight, golden.tensor(group + "/weights/" + name),
                                               start.get(name)));
        std::sort(found.begin(), found.end());
        return found;
    }

    std::unique_ptr<comm::Collectives> ranks{comm::mpi_collectives()};
    test::Golden golden{"train_f32.h5"};
    std::int64_t steps{golden.integer("steps")};
    at::Tensor inputs{golden.tensor("inputs")};
    at::Tensor targets{golden.tensor("targets")};
    config::OptimizerSettings settings;
    model::Gpt gpt{golden.parameters("step_0/weights")};
    model::Parameters start{gpt.weights().clone()};
    optim::Shards shards{optim::deal_shards(golden.shape(), ranks->size())};
    ShardExchange exchange{shards, *ranks};
    std::optional<optim::Optimizer> optimizer;
};

TEST_F(GoldenRanks, TrainAndResumeLikeTheReference)
{
    auto const losses = golden.tensor("loss");
    for (std::int64_t number = 0; number < steps; ++number) {
        if (number == steps / 2) resume();
        EXPECT_NEAR(step(number), losses[number].item<double>(), 1e-4 * allowance) << number;
        auto const group = "step_" + std::to_string(number + 1);
        if (!golden.has(group + "/weights/lm_head.weight")) continue;
        auto const found = differences(group);
        EXPECT_LE(found.back(), 5e-2) << group;
        EXPECT_LE(found[(found.size() - 1) / 2], 5e-3 * allowance) << group << ", median";
    }
    auto weights = gpt.weights().clone();
    ranks->broadcast(std::as_writable_bytes(weights.values()), 0);
    EXPECT_TRUE(at::equal(weights.flat(), gpt.weights().flat())) << "the ranks' weights differ";
}

TEST_F(GoldenRanks, HoldTheirShareOfTheState)
{
    std::int64_t own = 0;
    for (auto const& range : optimizer->ranges()) own += range.count;
    double const even =
        static_cast<double>(golden.shape().parameters()) / static_cast<double>(ranks->size());
    EXPECT_LE(static_cast<double>(own), 1.25 * even);
}

}  // namespace
}  // namespace curtail::trainer
