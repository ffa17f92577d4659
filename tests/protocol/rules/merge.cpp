// SPDX-License-Identifier: Apache-2.0
#include "protocol/rules/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>

namespace curtail::protocol {
namespace {

bool has_same_bits(std::span<float const> a, std::span<float const> b)
{
    return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

TEST(Merge, StaleWorkCountsLessAndOtherWeightsStayTheSame)
{
    std::vector<WeightInput> const c{{"a", {3}, 0}, {"b", {3}, 1}, {"c", {3}, 0}, {"d", {2}, 0}};
    auto const s = scales(c, 250);
    EXPECT_FLOAT_EQ(s[0], 3.0F / 11);
    EXPECT_FLOAT_EQ(s[1], 3.0F / (1.25F * 11));
    EXPECT_FLOAT_EQ(s[3], 2.0F / 11);
    EXPECT_EQ(scales(std::vector<WeightInput>{{"a", {0}, 0}}, 250), std::vector<float>{0});
}

TEST(Merge, EachContributionOfAMemberHasTheWeightOfAllItsTokens)
{
    std::vector<WeightInput> const c{{"a", {2}, 0}, {"a", {6}, 1}, {"a", {0}, 0}, {"b", {8}, 0}};
    EXPECT_EQ(scales(c, 1000), (std::vector<float>{0.5F, 0.25F, 0, 0.5F}));
}

using Spans = std::vector<std::span<float const>>;

TEST(Merge, SumsFromLeftToRightInSinglePrecision)
{
    std::vector<float> const big{1e8F}, one{1.0F}, minus{-1e8F}, zero{0.0F};
    std::vector<float> const scale{1, 1, 1};
    std::vector<float> result{7};
    average_step(zero, {Spans{big, one, minus}, scale}, result);
    EXPECT_EQ(result[0], 0.0F);  // the first addition rounds the one away
    average_step(zero, {Spans{big, minus, one}, scale}, result);
    EXPECT_EQ(result[0], -1.0F);
}

TEST(Merge, OuterStepsFollowTheirFormulas)
{
    std::vector<float> const theta{1, 2}, m{0.5F, 0}, half{0.5F, -2}, scale{0.5F};
    Spans const deltas{half};  // g = (0.25, -1)
    std::vector<float> result(2), momentum(2);
    average_step(theta, {deltas, scale}, result);
    EXPECT_EQ(result, (std::vector<float>{0.75F, 3}));
    nesterov_step({result, m, 0.5F, 0.5F}, {deltas, scale}, result, momentum);
    EXPECT_EQ(momentum, (std::vector<float>{0.5F, -1}));   // 0.5 m + g
    EXPECT_EQ(result, (std::vector<float>{0.5F, 3.75F}));  // theta - 0.5 (g + 0.5 m)
    nesterov_step({theta, {}, 0.5F, 0.5F}, {deltas, scale}, result, momentum);
    EXPECT_EQ(momentum, (std::vector<float>{0.25F, -1})) << "without momentum, m = g";
}

// All instructions that this machine has.
std::vector<Instructions> all_instructions()
{
    std::vector<Instructions> all;
    for (auto const one : {Instructions::baseline, Instructions::avx2, Instructions::avx512})
        if (one <= fastest_instructions()) all.push_back(one);
    return all;
}

TEST(Merge, RefusesDifferentLengths)
{
    std::vector<float> const two{1, 2}, one{1}, scale{1};
    std::vector<float> result(2), momentum(2);
    EXPECT_THROW(average_step(two, {Spans{one}, scale}, result), std::logic_error);
    EXPECT_THROW(average_step(two, {Spans{two, two}, scale}, result), std::logic_error);
    EXPECT_THROW(average_step(one, {Spans{one}, scale}, result), std::logic_error);
    EXPECT_THROW(nesterov_step({two, one, 1, 1}, {Spans{two}, scale}, result, momentum),
                 std::logic_error);
}

// Any two sites must compute the same bits, whatever their processors are. The plain loops below
// are the definition.
TEST(Merge, AllInstructionsGiveTheBitsOfTheDefinition)
{
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    auto const values = [&](std::size_t count) {
        std::vector<float> out(count);
        for (auto& value : out) value = normal(random);
        return out;
    };
    for (auto const& [size, sites] : {std::pair(1UL, 3UL),
                                      {7, 1},
                                      {2047, 3},
                                      {2048, 4},
                                      {2049, 5},
                                      {10'007, 2},
                                      {10'007, 11},
                                      {(1UL << 20) + 13, 3}}) {
        auto const theta = values(size);
        auto const m = values(size);
        std::vector<std::vector<float>> all;
        for (std::size_t i = 0; i < sites; ++i) all.push_back(values(size));
        Spans const spans(all.begin(), all.end());
        auto const scale = values(sites);
        std::vector<float> wanted(size), wanted_momentum(size);
        for (std::size_t j = 0; j < size; ++j) {
            float volatile g = 0;  // volatile: no wider or fused intermediate values
            for (std::size_t i = 0; i < spans.size(); ++i) {
                float const volatile product = scale[i] * spans[i][j];
                g = g + product;
            }
            float const volatile decayed = 0.9F * m[j];
            wanted_momentum[j] = decayed + g;
            float const volatile ahead = 0.9F * wanted_momentum[j];
            float const volatile step = 0.7F * (g + ahead);
            wanted[j] = theta[j] - step;
        }
        for (auto const instructions : all_instructions()) {
            // Not aligned to a vector of the processor.
            std::vector<float> unaligned(size + 1), unaligned_momentum(size + 1);
            auto const result = std::span(unaligned).subspan(1);
            auto const momentum = std::span(unaligned_momentum).subspan(1);
            nesterov_step({theta, m, 0.7F, 0.9F}, {spans, scale}, result, momentum, instructions);
            EXPECT_TRUE(has_same_bits(result, wanted)) << size;
            EXPECT_TRUE(has_same_bits(momentum, wanted_momentum)) << size;
        }
    }
}

// Deltas that are added one after the other give the same bits, in parts of any size, also with
// negative zeros and tiny products.
TEST(Merge, NeedsNotHoldItsDeltas)
{
    std::mt19937 random(8);
    std::normal_distribution<float> normal;
    constexpr std::size_t size = 5003, part = 700;
    for (std::size_t const sites : {1UL, 3UL, 6UL}) {
        auto const values = [&](std::size_t count, float unit) {
            std::vector<float> some(count);
            for (auto& value : some) value = unit * normal(random);
            for (std::size_t i = 0; i < count; i += 11) some[i] = -0.0F;
            return some;
        };
        auto const theta = values(size, 1), m = values(size, 1), scale = values(sites, 1e-20F);
        std::vector<std::vector<float>> all;
        for (std::size_t i = 0; i < sites; ++i) all.push_back(values(size, 1e-20F));
        Spans const spans(all.begin(), all.end());
        std::vector<float> wanted(size), wanted_m(size), averaged(size);
        auto const found = nesterov_step({theta, m, 0.7F, 0.9F}, {spans, scale}, wanted, wanted_m);
        average_step(theta, {spans, scale}, averaged);
        for (auto const instructions : all_instructions()) {
            std::vector<float> g(size), momentum = m;
            for (std::size_t i = 0; i < sites; ++i) {
                double sumsq = 0;
                for (std::size_t at = 0; at < size; at += part) {
                    auto const count = std::min(part, size - at);
                    sumsq += add_scaled(spans[i].subspan(at, count), scale[i],
                                        std::span(g).subspan(at, count), instructions);
                }
                EXPECT_TRUE(is_same_sumsq(sumsq, found.sumsq[i]));
            }
            std::vector<float> const one{1};
            Spans const sum{g};
            std::vector<float> difference(size);
            average_step(theta, {sum, one}, difference, instructions);
            EXPECT_TRUE(has_same_bits(difference, averaged));
            nesterov_step({theta, momentum, 0.7F, 0.9F}, {sum, one}, g, momentum, instructions);
            EXPECT_TRUE(has_same_bits(g, wanted));
            EXPECT_TRUE(has_same_bits(momentum, wanted_m));
        }
    }
    std::vector<float> two(2), three(3);
    EXPECT_THROW(add_scaled(two, 1, three), std::logic_error);
}

// The order of the additions is fixed.
TEST(Merge, AllInstructionsGiveTheSameSumsOfSquares)
{
    std::mt19937 random(6);
    std::normal_distribution<float> normal;
    for (std::size_t const size : {3UL, 17UL, 2048UL, 5003UL}) {
        std::vector<std::vector<float>> all(5, std::vector<float>(size));
        for (auto& delta : all)
            for (auto& value : delta) value = normal(random);
        Spans const spans(all.begin(), all.end());
        std::vector<float> const scale(5, 0.2F), theta(size);
        std::vector<float> result(size);
        auto const wanted =
            average_step(theta, {spans, scale}, result, Instructions::baseline).sumsq;
        for (auto const instructions : all_instructions())
            EXPECT_EQ(average_step(theta, {spans, scale}, result, instructions).sumsq, wanted);
    }
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Merge, AddsTheSquaresOfEachDeltaWithAllInstructions)
{
    for (std::size_t const size : {1UL, 7UL, 2048UL, 2051UL, 5000UL}) {
        std::vector<float> const theta(size), small(size, 0.5F), big(size, 1e30F), none(size);
        std::vector<float> const scale{0.1F, 0.1F, 0.1F, 0.1F, 0.1F};
        auto const count = static_cast<double>(size);
        double const square = double{1e30F} * double{1e30F};  // too great for a float
        for (auto const instructions : all_instructions()) {
            std::vector<float> result(size);
            auto const found = average_step(theta, {Spans{small, big, none, small, small}, scale},
                                            result, instructions);
            ASSERT_EQ(found.sumsq.size(), 5U);
            EXPECT_EQ(found.sumsq[0], 0.25 * count);
            EXPECT_NEAR(found.sumsq[1] / (square * count), 1, 1e-12);
            EXPECT_EQ(found.sumsq[2], 0);
            EXPECT_EQ(found.sumsq[4], 0.25 * count);
            EXPECT_TRUE(found.finite);
        }
    }
}

TEST(Merge, FindsEachValueThatIsNotFinite)
{
    constexpr std::size_t size = 2060;
    std::vector<float> const theta(size), good(size, 1);
    std::vector<float> const scale{0.5F, 0.5F};
    for (float const value : {nan, -nan, infinity, -infinity})
        for (std::size_t const at : {0UL, 8UL, 2047UL, 2048UL, 2059UL})
            for (auto const instructions : all_instructions()) {
                auto bad = good;
                bad[at] = value;
                std::vector<float> result(size);
                auto const found =
                    average_step(theta, {Spans{good, bad}, scale}, result, instructions);
                EXPECT_EQ(found.sumsq[0], size);
                EXPECT_FALSE(std::isfinite(found.sumsq[1])) << value << " at " << at;
                EXPECT_FALSE(found.finite) << value << " at " << at;
            }
}

TEST(Merge, NamesTheDeltaThatMakesAModelInfinite)
{
    std::vector<float> const theta{1, -3e38F, 1}, m{0, 0, 0};
    std::vector<float> const small{1, 1e37F, 1e38F}, big{1, 3e38F, 1}, scale{0.5F, 0.5F};
    std::vector<float> result(3), momentum(3);
    Spans const spans{small, big};
    auto const found = nesterov_step({theta, m, 1, 0.9F}, {spans, scale}, result, momentum);
    EXPECT_TRUE(std::isfinite(found.sumsq[0]) && std::isfinite(found.sumsq[1]));
    EXPECT_FALSE(found.finite);
    EXPECT_EQ(greatest_at_fault({spans, scale}, result), 1U);
    EXPECT_THROW((void)greatest_at_fault({spans, scale}, theta), std::logic_error);
}

TEST(Merge, SumsOfSquaresMayDifferByRoundingOnly)
{
    EXPECT_TRUE(is_same_sumsq(0, 0));
    EXPECT_TRUE(is_same_sumsq(4, 4 * (1 + 1e-7)));
    EXPECT_FALSE(is_same_sumsq(4, 4 * (1 + 2e-6)));
    EXPECT_FALSE(is_same_sumsq(1e-30, 0));
    EXPECT_FALSE(is_same_sumsq(double{nan}, 4));
}

}  // namespace
}  // namespace curtail::protocol
