// SPDX-License-Identifier: Apache-2.0
// Weights of other types than float32. The bfloat16 path is held against the float32 path, whose
// results the golden vectors check.
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "trainer/model/golden.hpp"
#include "trainer/model/initialize.hpp"
#include "trainer/model/losses.hpp"

namespace curtail::model {
namespace {

using test::record;
using test::relative;

config::Model small_shape() { return {"small", 2, 32, 4, 2, 16, 50}; }

TEST(Parameters, AreCopiedToAnotherType)
{
    auto const weights = initial_parameters(small_shape(), 1);
    auto const half = weights.to(c10::kCPU, at::kBFloat16);
    EXPECT_EQ(half.flat().scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::equal(half.block(1).fc, weights.block(1).fc.to(at::kBFloat16)));
    auto const same = weights.to(c10::kCPU, at::kFloat);
    same.flat().zero_();
    EXPECT_GT(weights.flat().abs().max().item<float>(), 0) << "a copy has its own memory";
}

TEST(Parameters, OfAnyDeviceAndTypeHaveTheirPlaces)
{
    Parameters const weights(small_shape(), at::TensorOptions(at::kBFloat16).device(c10::kMeta));
    EXPECT_EQ(weights.flat().device().type(), c10::kMeta);
    EXPECT_EQ(weights.block(1).qkv.sizes(), (std::vector<std::int64_t>{64, 32}));
    EXPECT_EQ(weights.head().scalar_type(), at::kBFloat16);
}

TEST(Parameters, GiveTheirNumbersOnlyAsFloatsOnTheCpu)
{
    auto weights = initial_parameters(small_shape(), 1).to(c10::kCPU, at::kBFloat16);
    EXPECT_THROW((void)weights.values(), std::logic_error);
    Parameters const elsewhere(small_shape(), at::TensorOptions(at::kFloat).device(c10::kMeta));
    try {
        (void)elsewhere.values();
        FAIL() << "values() must refuse another device";
    } catch (std::logic_error const& error) {
        EXPECT_STREQ(error.what(),
                     "cannot read the parameters as numbers: they are Float on meta; convert them "
                     "to float32 on the CPU first");
    }
}

class Bfloat16 : public testing::TestWithParam<std::string> {
  protected:
    // A model of these weights after the gradients of the file's batch, and its mean loss.
    double pass(Gpt& gpt) const
    {
        auto const loss = test::loss(gpt, input, target);
        test::accumulate_gradients(gpt, input, target, 1 / static_cast<double>(loss.count));
        return loss.mean();
    }
    test::Golden golden{GetParam()};
    at::Tensor input = golden.tensor("input");
    at::Tensor target = golden.tensor("target");
    Gpt exact{golden.parameters("weights")};
    Gpt rounded{golden.parameters("weights").to(c10::kCPU, at::kBFloat16)};
};

// Measured with AVX-512: losses differ by up to 3.3e-4, gradients by up to 2.3e-2 of their norm.
TEST_P(Bfloat16, AgreesWithFloat32)
{
    double const expected = pass(exact);
    double const difference = std::abs(pass(rounded) - expected) / expected;
    record(GetParam() + " loss", difference);
    EXPECT_LE(difference, 1e-2);
    double worst = 0;
    for (auto const& [name, gradient] : rounded.gradients().named()) {
        double const of_gradient = relative(gradient, exact.gradients().get(name));
        worst = std::max(worst, of_gradient);
        EXPECT_LE(of_gradient, 5e-2) << name;
    }
    record(GetParam() + " gradients, worst tensor", worst);
    auto const logits = rounded.logits(input);
    EXPECT_EQ(logits.scalar_type(), at::kFloat);
    EXPECT_LE(relative(logits, exact.logits(input)), 5e-2);
}

TEST_P(Bfloat16, AddsGradientsUpInFloat32)
{
    // In bfloat16, the sum of 1 and 1/512 is 1.
    rounded.gradients().flat().fill_(1);
    auto const before = rounded.gradients().flat().clone();
    ASSERT_EQ(rounded.gradients().flat().scalar_type(), at::kFloat);
    test::accumulate_gradients(rounded, input, target, 1e-3);
    auto const small = rounded.gradients().flat().sub(before);
    rounded.zero_gradients();
    test::accumulate_gradients(rounded, input, target, 1e-3);
    EXPECT_LT(relative(small, rounded.gradients().flat()), 0.1);
}

INSTANTIATE_TEST_SUITE_P(Files, Bfloat16, testing::Values("gpt_mha.h5", "gpt_gqa.h5"),
                         [](auto const& file) {
                             return file.param.substr(0, file.param.find('.'));
                         });

TEST(Gradients, AreTheSameIfTheLossIsReadLater)
{
    auto const weights = initial_parameters(small_shape(), 1);
    Gpt now(weights.clone());
    Gpt later(weights.clone());
    auto const input = at::Tensor(test::Golden("gpt_mha.h5").tensor("input"))
                           .narrow(1, 0, 16)
                           .remainder(50)
                           .contiguous();
    auto const sum =
        later.enqueue_gradients(input, input, 1).add(later.enqueue_gradients(input, input, 1));
    auto expected = test::accumulate_gradients(now, input, input, 1);
    expected += test::accumulate_gradients(now, input, input, 1);
    EXPECT_EQ(sum.item<double>(), expected.sum);
    EXPECT_TRUE(at::equal(later.gradients().flat(), now.gradients().flat()));
}

}  // namespace
}  // namespace curtail::model
