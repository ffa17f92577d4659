// SPDX-License-Identifier: Apache-2.0
#include "optim/shards.hpp"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <random>

#include "model/initialize.hpp"
#include "model/update_error.hpp"
#include "optim/optimizer.hpp"

namespace curtail::optim {
namespace {

config::Model small_shape() { return {"small", 3, 32, 2, 1, 16, 50}; }

std::int64_t elements_of(std::vector<Piece> const& pieces)
{
    std::int64_t sum = 0;
    for (auto const& piece : pieces) sum += piece.count;
    return sum;
}

TEST(Shards, HoldEveryElementOnce)
{
    for (auto const& shape : {small_shape(), config::model_of_depth(4, 256, 4096)})
        for (int const ranks : {1, 2, 3, 4, 8, 64}) {
            auto const shards = deal_shards(shape, ranks);
            std::vector<Piece> all;
            for (int rank = 0; rank < ranks; ++rank)
                for (auto const& piece : shards.of(rank)) all.push_back(piece);
            std::sort(all.begin(), all.end(),
                      [](auto const& a, auto const& b) { return a.offset < b.offset; });
            std::int64_t next = 0;
            for (auto const& piece : all) {
                EXPECT_EQ(piece.offset, next) << ranks << " ranks";
                next += piece.count;
            }
            EXPECT_EQ(next, shape.parameters()) << ranks << " ranks";
        }
}

TEST(Shards, KeepMatricesOfTheLayersWhole)
{
    auto const places = model::parameter_places(small_shape());
    for (int rank = 0; rank < 3; ++rank)
        for (auto const& piece : deal_shards(small_shape(), 3).of(rank)) {
            auto const& place = places[piece.parameter];
            if (place.name.find(".h.") == std::string::npos) continue;
            EXPECT_EQ(piece.offset, place.offset) << place.name;
            EXPECT_EQ(piece.count, place.numel()) << place.name;
        }
}

TEST(Shards, AreOfNearlyEqualSize)
{
    for (int const ranks : {2, 4, 8}) {
        auto const shape = config::model_of_depth(8);
        auto const shards = deal_shards(shape, ranks);
        double const even = static_cast<double>(shape.parameters()) / ranks;
        for (int rank = 0; rank < ranks; ++rank)
            EXPECT_NEAR(static_cast<double>(elements_of(shards.of(rank))), even, 0.03 * even)
                << rank << " of " << ranks;
    }
}

TEST(Shards, AChunkHoldsTheLargestShareOfItsBucket)
{
    auto const shards = deal_shards(small_shape(), 4);
    EXPECT_EQ(shards.buckets.size(), 5U) << "head, three layers, the rest";
    for (auto const& bucket : shards.buckets) {
        std::int64_t largest = 0;
        for (auto const& pieces : bucket.of_rank) largest = std::max(largest, elements_of(pieces));
        EXPECT_GE(bucket.chunk, largest);
        EXPECT_LT(bucket.chunk, largest + 16);
        EXPECT_EQ(bucket.chunk % 16, 0);
    }
}

TEST(Shards, NeedARank)
{
    EXPECT_THROW((void)deal_shards(small_shape(), 0), std::invalid_argument);
}

model::Parameters gradients_of_step(int step)
{
    model::Parameters gradients(small_shape());
    std::mt19937_64 random(static_cast<std::uint64_t>(step));
    std::normal_distribution<float> normal(0, 0.01F);
    for (auto& g : gradients.values()) g = normal(random);
    return gradients;
}

// The optimizers of three ranks, one after the other on the same weights.
class ThreeRanks : public testing::Test {
  protected:
    void SetUp() override
    {
        for (int rank = 0; rank < 3; ++rank)
            ranks.emplace_back(small_shape(), config::Optimizer{}, Tokens{2048},
                               deal_shards(small_shape(), 3).of(rank));
    }
    void step(int number, model::Parameters& buffer)
    {
        for (auto& rank : ranks)
            rank.step(buffer, gradients_of_step(number), {static_cast<double>(number), 20});
    }
    [[nodiscard]] OptimizerState state() const
    {
        auto all = new_state(small_shape());
        for (auto const& rank : ranks) rank.copy_state(all);
        return all;
    }
    std::vector<Optimizer> ranks;
    Optimizer one{small_shape(), {}, Tokens{2048}};
    model::Parameters weights = model::initial_parameters(small_shape(), 1);
    model::Parameters weights_of_one = weights.clone();
};

TEST_F(ThreeRanks, MakeTheStepsOfOne)
{
    auto const before = weights.clone();
    for (int number = 0; number < 4; ++number) {
        step(number, weights);
        one.step(weights_of_one, gradients_of_step(number), {static_cast<double>(number), 20});
    }
    // A batch of fewer matrices may be computed in another order.
    EXPECT_LT(test::update_error(weights, weights_of_one, before), test::same_update);
    EXPECT_FALSE(at::equal(weights.flat(), before.flat()));
}

TEST_F(ThreeRanks, HoldTheStateOfOne)
{
    step(0, weights);
    one.step(weights_of_one, gradients_of_step(0), {0, 20});
    auto const together = state();
    auto const whole = one.state();
    ASSERT_EQ(together.tensors.size(), whole.tensors.size());
    for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
        EXPECT_EQ(together.tensors[i].name, whole.tensors[i].name);
        EXPECT_TRUE(together.tensors[i].tensor.allclose(whole.tensors[i].tensor, 1e-4, 1e-9))
            << whole.tensors[i].name;
    }
    EXPECT_EQ(together.steps, 1);
}

TEST_F(ThreeRanks, ContinueFromTheStateOfOne)
{
    step(0, weights);
    auto const saved = state();
    ASSERT_TRUE(one.restore(saved));
    auto const restored = one.state();
    for (std::size_t i = 0; i < saved.tensors.size(); ++i)
        EXPECT_TRUE(at::equal(restored.tensors[i].tensor, saved.tensors[i].tensor))
            << saved.tensors[i].name;
    auto const before = weights.clone();
    weights_of_one = weights.clone();
    step(1, weights);
    one.step(weights_of_one, gradients_of_step(1), {1, 20});
    EXPECT_LT(test::update_error(weights, weights_of_one, before), test::same_update);
}

}  // namespace
}  // namespace curtail::optim
