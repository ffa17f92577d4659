// SPDX-License-Identifier: Apache-2.0
#include "rounds/merge.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace curtail::rounds {
namespace {

TEST(Merge, StaleWorkCountsLessAndOtherWeightsStayTheSame)
{
    std::vector<Weighed> const c{{{3}, 0}, {{3}, 1}, {{3}, 0}, {{2}, 0}};
    auto const s = scales(c, 250);
    EXPECT_FLOAT_EQ(s[0], 3.0F / 11);
    EXPECT_FLOAT_EQ(s[1], 3.0F / (1.25F * 11));
    EXPECT_FLOAT_EQ(s[3], 2.0F / 11);
    EXPECT_EQ(scales(std::vector<Weighed>{{{0}, 0}}, 250), std::vector<float>{0});
}

TEST(Merge, SumsFromLeftToRightInSinglePrecision)
{
    std::vector<float> const big{1e8F}, one{1.0F}, minus{-1e8F};
    std::vector<float> const scale{1, 1, 1};
    std::vector<float> g{7};
    weighted_sum(std::vector<std::span<float const>>{big, one, minus}, scale, g);
    EXPECT_EQ(g[0], 0.0F);  // the first addition rounds the one away
    weighted_sum(std::vector<std::span<float const>>{big, minus, one}, scale, g);
    EXPECT_EQ(g[0], 1.0F);
}

TEST(Merge, OuterStepsFollowTheirFormulas)
{
    std::vector<float> theta{1, 2}, m{0.5F, 0};
    std::vector<float> const g{0.25F, -1};
    average_step(theta, g);
    EXPECT_EQ(theta, (std::vector<float>{0.75F, 3}));
    nesterov_step(theta, m, g, 0.5F, 0.5F);
    EXPECT_EQ(m, (std::vector<float>{0.5F, -1}));         // 0.5 m + g
    EXPECT_EQ(theta, (std::vector<float>{0.5F, 3.75F}));  // theta - 0.5 (g + 0.5 m)
    EXPECT_THROW(average_step(theta, std::vector<float>{1}), std::logic_error);
}

}  // namespace
}  // namespace curtail::rounds
