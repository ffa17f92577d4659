// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "trainer/model/golden.hpp"
#include "trainer/model/optim/muon.hpp"

namespace curtail::optim {
namespace {

using test::record;
using test::relative;
using test::relative_to_update;

struct File {
    std::string name;
    at::ScalarType products;
    double tolerance;  // of the update's norm
};

class GoldenMuon : public testing::TestWithParam<File> {};

TEST_P(GoldenMuon, StepsMatchTheReference)
{
    auto const& [name, products, tolerance] = GetParam();
    test::Golden const golden(name);
    for (auto const& shape : golden.groups()) {
        auto const start = golden.tensor(shape + "/w0");
        auto const polar = golden.tensor(shape + "/polar_of_g0");
        double worst = relative(
            polar_express(golden.tensor(shape + "/g0").unsqueeze(0), products)[0].to(at::kFloat),
            polar);
        EXPECT_LE(worst, tolerance) << shape << " polar";
        Muon muon(1, start.size(0), start.size(1), products);
        auto const w = start.clone();
        for (int i = 0; golden.has(shape + "/g" + std::to_string(i)); ++i) {
            auto const g = golden.tensor(shape + "/g" + std::to_string(i));
            muon.step({&w, 1}, {&g, 1}, {.rate = 0.02, .momentum = 0.9, .weight_decay = 0.1});
            auto const expected = golden.tensor(shape + "/w" + std::to_string(i + 1));
            double const difference = relative_to_update(w, expected, start);
            worst = std::max(worst, difference);
            EXPECT_LE(difference, tolerance) << shape << " step " << i + 1;
        }
        auto const momentum = golden.tensor(shape + "/momentum_buffer");
        auto const second = golden.tensor(shape + "/second_momentum_buffer");
        EXPECT_LE(relative(muon.momentum()[0], momentum), 1e-5) << shape;
        EXPECT_EQ(muon.second_momentum()[0].sizes(), second.sizes());
        EXPECT_LE(relative(muon.second_momentum()[0], second), tolerance) << shape;
        record(name + " " + shape + ", worst step", worst);
    }
}

TEST_P(GoldenMuon, MatricesStepTogetherAsEachAlone)
{
    auto const& [name, products, tolerance] = GetParam();
    test::Golden const golden(name);
    auto const shape = golden.groups().front();
    auto const w0 = golden.tensor(shape + "/w0");
    std::vector<at::Tensor> const gradients{golden.tensor(shape + "/g1"),
                                            golden.tensor(shape + "/g0")};
    std::vector<at::Tensor> const weights{w0.clone(), w0.clone()};
    Muon(2, w0.size(0), w0.size(1), products)
        .step(weights, gradients, {.rate = 0.02, .momentum = 0.9, .weight_decay = 0.1});
    auto const expected = golden.tensor(shape + "/w1");
    EXPECT_LE(relative_to_update(weights[1], expected, w0), tolerance);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenMuon,
                         testing::Values(File{"muon_f32.h5", at::kFloat, 2e-3},
                                         File{"muon.h5", at::kBFloat16, 5e-2}),
                         [](auto const& file) {
                             return file.param.name.substr(0, file.param.name.find('.'));
                         });

}  // namespace
}  // namespace curtail::optim
