// SPDX-License-Identifier: Apache-2.0
// The model against vectors computed by the reference's Python; tests/golden/README.md explains the
// tolerances.
#include <gtest/gtest.h>

#include "trainer/model/golden.hpp"
#include "trainer/model/losses.hpp"

namespace curtail::model {
namespace {

using test::record;
using test::relative;

class GoldenGpt : public testing::TestWithParam<std::string> {};

TEST_P(GoldenGpt, LogitsLossesAndGradientsMatchTheReference)
{
    test::Golden const golden(GetParam());
    Gpt gpt(golden.parameters("weights"));
    auto const input = golden.tensor("input");
    auto const target = golden.tensor("target");

    auto const logits = golden.tensor("logits");
    auto const per_token = golden.tensor("loss_per_token");
    auto const mean = golden.tensor("loss").item<double>();
    double const of_logits = relative(gpt.logits(input), logits);
    double const of_tokens = relative(gpt.token_losses(input, target), per_token);
    auto const loss = test::loss(gpt, input, target);
    record(GetParam() + " logits", of_logits);
    record(GetParam() + " loss per token", of_tokens);
    record(GetParam() + " loss", std::abs(loss.mean() - mean) / mean);
    EXPECT_LE(of_logits, 1e-4);
    EXPECT_LE(of_tokens, 1e-4);
    EXPECT_LE(std::abs(loss.mean() - mean), 1e-4 * mean);

    auto const trained =
        test::accumulate_gradients(gpt, input, target, 1 / static_cast<double>(loss.count));
    EXPECT_EQ(trained.count, loss.count);
    EXPECT_NEAR(trained.mean(), mean, 1e-4 * mean);
    double worst = 0;
    for (auto const& [name, gradient] : gpt.gradients().named()) {
        auto const expected = golden.tensor("grads/" + name);
        double const difference = relative(gradient, expected);
        worst = std::max(worst, difference);
        EXPECT_LE(difference, 1e-4) << name;
    }
    record(GetParam() + " gradients, worst tensor", worst);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenGpt, testing::Values("gpt_mha.h5", "gpt_gqa.h5"),
                         [](auto const& file) {
                             return file.param.substr(0, file.param.find('.'));
                         });

}  // namespace
}  // namespace curtail::model
