// SPDX-License-Identifier: Apache-2.0
// Computing activations again instead of keeping them: the same gradients with less memory.
#include <ATen/ops/equal.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include "trainer/model/allocations.hpp"
#include "trainer/model/initialize.hpp"
#include "trainer/model/losses.hpp"

namespace curtail::model {
namespace {

config::Model deep_shape() { return {"deep", 8, 48, 4, 2, 32, 50}; }

// Weights without zeros, so that every path contributes.
Parameters busy_weights(at::ScalarType type)
{
    auto weights = initial_parameters(deep_shape(), 1);
    at::manual_seed(7);
    for (std::int64_t layer = 0; layer < deep_shape().layers; ++layer) {
        weights.block(layer).attn_out.normal_(0, 0.05);
        weights.block(layer).mlp_out.normal_(0, 0.05);
    }
    weights.head().normal_(0, 0.1);
    weights.get("x0_lambdas").normal_(0, 0.1);
    return weights.to(c10::kCPU, type);
}

class Checkpointing : public testing::TestWithParam<at::ScalarType> {
  protected:
    void SetUp() override { at::manual_seed(3); }
    static at::Tensor random_ids(std::int64_t rows)
    {
        return at::randint(deep_shape().vocabulary, {rows, deep_shape().sequence}, at::kLong);
    }
    // Bytes that a model keeps after a batch, beyond its weights and gradients.
    static std::int64_t bytes_kept(Activations activations)
    {
        test::Allocations const allocations;
        Gpt gpt(busy_weights(GetParam()), activations);
        auto const before = allocations.bytes();
        auto const ids = random_ids(8);
        test::accumulate_gradients(gpt, ids, ids, 1);
        return allocations.bytes() - before - static_cast<std::int64_t>(ids.nbytes());
    }
};

TEST_P(Checkpointing, GivesTheSameGradientsToTheBit)
{
    Gpt keeping(busy_weights(GetParam()), Activations::keep);
    Gpt computing(busy_weights(GetParam()), Activations::recompute);
    for (std::int64_t const rows : {3, 3, 2}) {
        auto const input = random_ids(rows);
        auto const target = random_ids(rows);
        auto const expected = test::accumulate_gradients(keeping, input, target, 0.01);
        EXPECT_EQ(test::accumulate_gradients(computing, input, target, 0.01).sum, expected.sum);
    }
    EXPECT_GT(keeping.gradients().block(0).fc.abs().max().item<double>(), 0);
    for (auto const& [name, gradient] : keeping.gradients().named())
        EXPECT_TRUE(at::equal(computing.gradients().get(name), gradient)) << name;
}

TEST_P(Checkpointing, KeepsTheInputsAndTheActivationsOfOneLayer)
{
    auto const all = bytes_kept(Activations::keep);
    auto const checkpoints = bytes_kept(Activations::recompute);
    // A layer keeps about 10 tensors as large as its input. The rest is scratch of one layer.
    EXPECT_LT(5 * checkpoints, 2 * all) << checkpoints << " of " << all << " bytes";
}

INSTANTIATE_TEST_SUITE_P(Types, Checkpointing, testing::Values(at::kFloat, at::kBFloat16),
                         [](auto const& type) { return std::string(c10::toString(type.param)); });

}  // namespace
}  // namespace curtail::model
