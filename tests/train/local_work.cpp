// SPDX-License-Identifier: Apache-2.0
#include "train/local_work.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace curtail::train {
namespace {

using rounds::Ranges;

Values values(std::vector<float> v)
{
    return std::make_shared<std::vector<float> const>(std::move(v));
}

TEST(LocalWork, TrainsTheLowestFreeBlocksOnce)
{
    LocalWork work;
    work.begin(values({0}));
    Ranges const held{{0, 4}, {8, 12}};
    EXPECT_EQ(work.next_blocks(held, 2), (Ranges{{0, 2}}));
    work.record_step({{0, 2}});
    EXPECT_EQ(work.next_blocks(held, 3), (Ranges{{2, 4}, {8, 9}}));
    (void)work.cut({1}, std::vector<float>{-1});
    work.record_step({{2, 4}});
    EXPECT_EQ(work.next_blocks(held, 100), (Ranges{{8, 12}}));
}

TEST(LocalWork, ACutHoldsTheWorkSinceTheLastOne)
{
    LocalWork work;
    work.begin(values({1, 2}));
    work.record_step({{0, 1}});
    auto const first = work.cut({1}, std::vector<float>{0.5F, 4});
    EXPECT_EQ(*first.delta, (std::vector<float>{0.5F, -2}));
    EXPECT_EQ(first.ranges, (Ranges{{0, 1}}));
    EXPECT_EQ(first.steps, 1);
    EXPECT_DOUBLE_EQ(first.sum_of_squares, 4.25);
    auto const second = work.cut({2}, std::vector<float>{0.5F, 4});
    EXPECT_EQ(*second.delta, (std::vector<float>{0, 0}));
    EXPECT_TRUE(second.ranges.empty());
}

TEST(LocalWork, NonFiniteValuesAreCounted)
{
    LocalWork work;
    work.begin(values({1, 2, 3}));
    work.record_step({{0, 1}});
    auto const made = work.cut({1}, std::vector<float>{0, NAN, INFINITY});
    EXPECT_EQ(made.nonfinite, 2);
    EXPECT_EQ(made.ranges, (Ranges{{0, 1}}));
    EXPECT_EQ(*made.delta, (std::vector<float>{0, 0, 0})) << "later weights must not contain them";
    EXPECT_EQ(*work.anchor(), (std::vector<float>{1, 2, 3})) << "the last good weights";
}

TEST(LocalWork, SkippedBlocksAreInNoCutAndAreNotTrainedAgain)
{
    LocalWork work;
    work.begin(values({1}));
    Ranges const held{{0, 9}};
    work.record_step({{0, 2}});
    work.record_skipped_step({{2, 3}});
    EXPECT_EQ(work.next_blocks(held, 9), (Ranges{{3, 9}}));
    auto const made = work.cut({1}, std::vector<float>{2});
    EXPECT_EQ(made.ranges, (Ranges{{0, 2}}));
    EXPECT_EQ(made.steps, 1);
    EXPECT_EQ(work.next_blocks(held, 9), (Ranges{{3, 9}}));
    (void)work.adopt(values({2}), {{1}}, std::vector<float>{2});
    EXPECT_EQ(work.next_blocks({{2, 4}}, 9), (Ranges{{3, 4}}));
    work.begin(values({2}));
    EXPECT_EQ(work.next_blocks({{2, 4}}, 9), (Ranges{{2, 4}})) << "a new member tries them again";
}

TEST(LocalWork, WithNothingUndecidedAndNoWorkItAdoptsTheNewModelBitForBit)
{
    LocalWork work;
    work.begin(values({1, 2}));
    work.record_step({{0, 1}});
    (void)work.cut({1}, std::vector<float>{0.1F, 0.2F});
    auto const theta = values({0.3F, 0.7F});
    EXPECT_EQ(work.adopt(theta, {{1}}, std::vector<float>{0.1F, 0.2F}), theta);
}

TEST(LocalWork, UndecidedAndNewWorkAreAppliedToTheNewModel)
{
    LocalWork work;
    work.begin(values({8}));
    work.record_step({{0, 1}});
    (void)work.cut({1}, std::vector<float>{7});  // d1 = 1
    work.record_step({{1, 2}});
    (void)work.cut({2}, std::vector<float>{5});  // d2 = 2
    work.record_step({{2, 3}});                  // x = 1: u = 4
    auto const x = work.adopt(values({16}), {{1}}, std::vector<float>{1});
    EXPECT_EQ(*x, (std::vector<float>{16 - 2 - 4}));
    EXPECT_EQ(*work.anchor(), (std::vector<float>{14}));
    auto const later = work.cut({3}, *x);
    EXPECT_EQ(*later.delta, (std::vector<float>{4}));
    EXPECT_EQ(later.ranges, (Ranges{{2, 3}}));
}

TEST(LocalWork, TheSameCutCannotBeMadeTwice)
{
    LocalWork work;
    work.begin(values({0}));
    (void)work.cut({1}, std::vector<float>{0});
    EXPECT_THROW((void)work.cut({1}, std::vector<float>{0}), std::logic_error);
}

}  // namespace
}  // namespace curtail::train
