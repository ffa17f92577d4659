// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/pass_memory.hpp"

#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include "trainer/model/allocations.hpp"
#include "trainer/model/initialize.hpp"
#include "trainer/model/losses.hpp"

namespace curtail::model {
namespace {

using Case = std::tuple<config::Model, Activations, std::int64_t>;

class PassMemory : public testing::TestWithParam<Case> {};

// Bytes at once in a pass of a model that has made one before.
std::int64_t measured(config::Model const& shape, Activations activations, std::int64_t rows)
{
    Gpt gpt(initial_parameters(shape, 1), activations);
    auto const ids = at::randint(shape.vocabulary, {rows, shape.sequence}, at::kLong);
    test::Allocations allocations;
    test::accumulate_gradients(gpt, ids, ids, 1);
    allocations.forget_peak();
    test::accumulate_gradients(gpt, ids, ids, 1);
    return allocations.peak();
}

TEST_P(PassMemory, IsNearWhatAPassAllocates)
{
    auto const& [shape, activations, rows] = GetParam();
    auto const expected = static_cast<double>(measured(shape, activations, rows));
    auto const estimate =
        static_cast<double>(pass_memory(shape, at::kFloat, rows, activations, false).value);
    EXPECT_GT(estimate, 0.85 * expected) << expected;
    EXPECT_LT(estimate, 1.25 * expected) << expected;
}

config::Model const deep{"deep", 8, 128, 2, 2, 128, 300};
config::Model const shared_heads{"shared", 6, 192, 6, 2, 64, 300};
config::Model const large_vocabulary{"words", 2, 64, 1, 1, 256, 20'000};

INSTANTIATE_TEST_SUITE_P(Models, PassMemory,
                         testing::Values(Case{deep, Activations::keep, 4},
                                         Case{deep, Activations::recompute, 4},
                                         Case{deep, Activations::keep, 1},
                                         Case{shared_heads, Activations::keep, 4},
                                         Case{shared_heads, Activations::recompute, 8},
                                         Case{large_vocabulary, Activations::keep, 2}));

}  // namespace
}  // namespace curtail::model
