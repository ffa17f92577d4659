// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/initialize.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace curtail::model {
namespace {

// The formulas of docs/model.md, one number after the other.
class Sequence {
  public:
    double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
    float uniform_within(double bound) { return static_cast<float>(bound * (2 * uniform() - 1)); }
    std::pair<float, float> normal_pair(double deviation)
    {
        double const radius = deviation * std::sqrt(-2 * std::log(1 - uniform()));
        double const angle = 2 * std::numbers::pi * uniform();
        return {static_cast<float>(radius * std::cos(angle)),
                static_cast<float>(radius * std::sin(angle))};
    }

  private:
    std::mt19937_64 engine_{5};
};

// The embedding is longer than a slice of one thread, and no multiple of it.
TEST(InitialParameters, DoNotDependOnTheThreadsThatMakeThem)
{
    config::Model const shape{"wide", 1, 72, 2, 2, 16, 20'011};
    auto const parameters = initial_parameters(shape, 5);
    Sequence expected;
    for (auto const& place : parameter_places(shape)) {
        auto const found = parameters.values().subspan(static_cast<std::size_t>(place.offset),
                                                       static_cast<std::size_t>(place.numel()));
        bool const embedding = place.name == "transformer.wte.weight";
        if (embedding || place.name == "lm_head.weight") {
            ASSERT_GT(found.size(), std::size_t{1} << 20);
            for (std::size_t i = 0; i < found.size(); i += 2) {
                auto const [first, second] = expected.normal_pair(embedding ? 1 : 0.001);
                ASSERT_EQ(found[i], first) << place.name << " " << i;
                ASSERT_EQ(found[i + 1], second) << place.name << " " << i;
            }
        } else if (place.name.find("c_proj") == std::string::npos &&
                   place.name.starts_with("transformer.h.")) {
            for (float const value : found)
                ASSERT_EQ(value, expected.uniform_within(std::sqrt(3.0 / 72))) << place.name;
        }
    }
}

}  // namespace
}  // namespace curtail::model
