// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/scalar_tensor.h>
#include <gtest/gtest.h>

#include "trainer/model/golden.hpp"
#include "trainer/model/optim/adamw.hpp"

namespace curtail::optim {
namespace {

using test::relative;
using test::relative_to_update;

TEST(GoldenAdamW, StepsMatchTheReference)
{
    test::Golden const golden("adamw.h5");
    AdamWSettings const settings{golden.number("beta1"), golden.number("beta2"),
                                 golden.number("eps")};
    double const rate = golden.number("lr");
    for (auto const& shape : golden.groups()) {
        auto const start = golden.tensor(shape + "/w0");
        auto const w = start.clone();
        AdamW adamw(w, settings);
        double worst = 0;
        for (int i = 0; golden.has(shape + "/g" + std::to_string(i)); ++i) {
            adamw.step(w, golden.tensor(shape + "/g" + std::to_string(i)), rate,
                       at::scalar_tensor(i + 1, at::TensorOptions(at::kFloat)));
            auto const expected = golden.tensor(shape + "/w" + std::to_string(i + 1));
            worst = std::max(worst, relative_to_update(w, expected, start));
        }
        EXPECT_LE(worst, 1e-4) << shape;
        auto const first = golden.tensor(shape + "/exp_avg");
        auto const second = golden.tensor(shape + "/exp_avg_sq");
        EXPECT_LE(relative(adamw.exp_avg(), first), 1e-5) << shape;
        EXPECT_LE(relative(adamw.exp_avg_sq(), second), 1e-5) << shape;
        test::record("adamw.h5 " + shape + ", worst step", worst);
    }
}

}  // namespace
}  // namespace curtail::optim
