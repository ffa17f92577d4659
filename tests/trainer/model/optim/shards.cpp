// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/optim/shards.hpp"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "trainer/model/initialize.hpp"
#include "trainer/model/optim/optimizer.hpp"
#include "trainer/model/optim/whole_optimizer.hpp"
#include "trainer/model/update_error.hpp"

namespace curtail::optim {
namespace {

config::Model small_shape() { return {"small", 3, 32, 2, 1, 16, 50}; }

std::int64_t elements_of(std::vector<ParameterRange> const& ranges)
{
    std::int64_t sum = 0;
    for (auto const& range : ranges) sum += range.count;
    return sum;
}

TEST(Shards, HoldEveryElementOnce)
{
    for (auto const& shape :
         {small_shape(), config::model_of_depth(4, 256, 4096), config::model_of_depth(20)})
        for (int const ranks : {1, 2, 3, 4, 8, 16, 64}) {
            auto const shards = deal_shards(shape, ranks);
            std::vector<ParameterRange> all;
            for (int rank = 0; rank < ranks; ++rank)
                for (auto const& range : shards.of(rank)) all.push_back(range);
            std::sort(all.begin(), all.end(),
                      [](auto const& a, auto const& b) { return a.offset < b.offset; });
            std::int64_t next = 0;
            for (auto const& range : all) {
                EXPECT_EQ(range.offset, next) << ranks << " ranks";
                next += range.count;
            }
            EXPECT_EQ(next, shape.parameters()) << ranks << " ranks";
        }
}

TEST(Shards, KeepMatricesOfTheLayersWhole)
{
    auto const places = model::parameter_places(small_shape());
    for (int rank = 0; rank < 3; ++rank)
        for (auto const& range : deal_shards(small_shape(), 3).of(rank)) {
            auto const& place = places[range.parameter];
            if (place.name.find(".h.") == std::string::npos) continue;
            EXPECT_EQ(range.offset, place.offset) << place.name;
            EXPECT_EQ(range.count, place.numel()) << place.name;
        }
}

// The sections (model::PassObserver) with a range in the bucket.
std::set<std::size_t> sections_of(GradientBucket const& bucket, config::Model const& shape)
{
    auto const places = model::parameter_places(shape);
    std::set<std::size_t> sections;
    for (auto const& ranges : bucket.of_rank)
        for (auto const& range : ranges) {
            std::string const name = places[range.parameter].name;
            std::string const layers = "transformer.h.";
            auto const last = static_cast<std::size_t>(shape.layers);
            if (name.starts_with(layers))
                sections.insert(last - std::stoul(name.substr(layers.size())));
            else sections.insert(name == "lm_head.weight" ? 0 : last + 1);
        }
    return sections;
}

TEST(Shards, TellTheBucketOfEachSection)
{
    auto const shape = config::model_of_depth(7, 256, 4096);
    for (int const ranks : {1, 3, 4, 8, 64}) {
        auto const shards = deal_shards(shape, ranks);
        ASSERT_EQ(shards.bucket_of.size(), 9U) << "head, seven layers, the rest";
        std::size_t section = 0;
        for (std::size_t bucket = 0; bucket < shards.buckets.size(); ++bucket)
            for (auto const found : sections_of(shards.buckets[bucket], shape)) {
                EXPECT_EQ(found, section) << ranks << " ranks";
                EXPECT_EQ(shards.bucket_of.at(section++), bucket) << ranks << " ranks";
                auto const last = found == *sections_of(shards.buckets[bucket], shape).rbegin();
                EXPECT_EQ(shards.ends_bucket(found), last) << ranks << " ranks";
            }
        EXPECT_EQ(section, 9U) << ranks << " ranks";
    }
}

// Elements in an exchange of all buckets, divided by the number of parameters.
double sent_per_parameter(config::Model const& shape, int ranks)
{
    std::int64_t sent = 0;
    for (auto const& bucket : deal_shards(shape, ranks).buckets) sent += bucket.chunk * ranks;
    return static_cast<double>(sent) / static_cast<double>(shape.parameters());
}

struct Dealing {
    std::int64_t depth;
    int ranks;
    std::vector<std::size_t> groups;  // numbers of layers
    double exchange;                  // most elements that may be sent, per parameter
    double work;                      // most that a rank may do, if the mean is 1
};
std::vector<std::size_t> layers(std::size_t groups, std::size_t each)
{
    return std::vector<std::size_t>(groups, each);
}
std::vector<Dealing> const dealings{
    {12, 1, layers(12, 1), 1.01, 1.01},          {12, 2, layers(12, 1), 1.01, 1.01},
    {12, 4, layers(6, 2), 1.01, 1.01},           {12, 8, layers(3, 4), 1.01, 1.01},
    {12, 16, layers(2, 6), 1.06, 1.07},          {12, 32, layers(1, 12), 1.06, 1.07},
    {12, 64, layers(1, 12), 1.36, 1.61},         {20, 1, layers(20, 1), 1.01, 1.01},
    {20, 2, layers(20, 1), 1.01, 1.01},          {20, 3, layers(20, 1), 1.01, 1.01},
    {20, 4, layers(10, 2), 1.01, 1.01},          {20, 8, layers(5, 4), 1.01, 1.01},
    {20, 16, layers(4, 5), 1.05, 1.05},          {20, 32, layers(2, 10), 1.05, 1.13},
    {20, 64, layers(1, 20), 1.05, 1.29},         {26, 8, {4, 4, 4, 4, 4, 3, 3}, 1.03, 1.03},
    {26, 16, {6, 5, 5, 5, 5}, 1.07, 1.06},       {26, 32, layers(2, 13), 1.03, 1.12},
    {26, 64, layers(1, 26), 1.03, 1.24},         {34, 2, layers(34, 1), 1.01, 1.01},
    {34, 16, {5, 5, 5, 5, 5, 5, 4}, 1.09, 1.05}, {34, 32, {9, 9, 8, 8}, 1.23, 1.05},
    {34, 64, layers(2, 17), 1.23, 1.14},
};
void PrintTo(Dealing const& dealing, std::ostream* out)
{
    *out << "d" << dealing.depth << ", " << dealing.ranks << " ranks";
}

class ShardsOfModels : public testing::TestWithParam<Dealing> {
  protected:
    config::Model shape{config::model_of_depth(GetParam().depth)};
    Shards shards{deal_shards(shape, GetParam().ranks)};
};
INSTANTIATE_TEST_SUITE_P(Depths, ShardsOfModels, testing::ValuesIn(dealings));

TEST_P(ShardsOfModels, FormTheSameGroupsEachTime)
{
    std::vector<std::size_t> groups;
    for (std::size_t bucket = 1; bucket + 1 < shards.buckets.size(); ++bucket)
        groups.push_back(static_cast<std::size_t>(std::ranges::count(shards.bucket_of, bucket)));
    EXPECT_EQ(groups, GetParam().groups);
    auto const again = deal_shards(shape, GetParam().ranks);
    for (int rank = 0; rank < GetParam().ranks; ++rank) EXPECT_EQ(again.of(rank), shards.of(rank));
}

TEST_P(ShardsOfModels, ExchangeLittlePadding)
{
    auto const sent = sent_per_parameter(shape, GetParam().ranks);
    EXPECT_LE(sent, GetParam().exchange);
    EXPECT_GE(sent, 1);
}

TEST_P(ShardsOfModels, BalanceTheWorkOfMuon)
{
    auto const places = model::parameter_places(shape);
    std::vector<double> work;  // of each rank
    for (int rank = 0; rank < GetParam().ranks; ++rank) {
        work.push_back(0);
        for (auto const& range : shards.of(rank)) {
            auto const& sides = places[range.parameter].shape;
            if (!places[range.parameter].name.starts_with("transformer.h.")) continue;
            // Multiplications in a step of the iteration, in units of width^3.
            work.back() += sides[0] == sides[1] ? 3 : 9;
        }
    }
    auto const mean = std::accumulate(work.begin(), work.end(), 0.0) / GetParam().ranks;
    EXPECT_LE(*std::ranges::max_element(work) / mean, GetParam().work);
}

TEST(Shards, ExchangeLittlePaddingAmongAnyNumberOfRanks)
{
    for (auto const depth : {12, 20, 26, 34})
        for (int ranks = 1; ranks <= 64; ++ranks)
            EXPECT_LE(sent_per_parameter(config::model_of_depth(depth), ranks),
                      ranks <= 32 ? 1.3 : 1.5)
                << "d" << depth << ", " << ranks << " ranks";
}

TEST(Shards, AreOfNearlyEqualSize)
{
    for (int const ranks : {2, 4, 8}) {
        auto const shape = config::model_of_depth(8);
        auto const shards = deal_shards(shape, ranks);
        double const even = static_cast<double>(shape.parameters()) / ranks;
        for (int rank = 0; rank < ranks; ++rank)
            EXPECT_NEAR(static_cast<double>(elements_of(shards.of(rank))), even, 0.03 * even)
                << rank << " of " << ranks;
    }
}

TEST(Shards, AChunkHoldsTheLargestShareOfItsBucket)
{
    auto const shards = deal_shards(small_shape(), 4);
    for (auto const& bucket : shards.buckets) {
        std::int64_t largest = 0;
        for (auto const& ranges : bucket.of_rank) largest = std::max(largest, elements_of(ranges));
        EXPECT_GE(bucket.chunk, largest);
        EXPECT_LT(bucket.chunk, largest + 16);
        EXPECT_EQ(bucket.chunk % 16, 0);
    }
}

TEST(Shards, NeedARank)
{
    EXPECT_THROW((void)deal_shards(small_shape(), 0), std::invalid_argument);
}

model::Parameters gradients_of_step(int step)
{
    model::Parameters gradients(small_shape());
    std::mt19937_64 random(static_cast<std::uint64_t>(step));
    std::normal_distribution<float> normal(0, 0.01F);
    for (auto& g : gradients.values()) g = normal(random);
    return gradients;
}

// The optimizers of three ranks, one after the other on the same weights.
class ThreeRanks : public testing::Test {
  protected:
    void SetUp() override
    {
        for (int rank = 0; rank < 3; ++rank)
            ranks.emplace_back(small_shape(), config::OptimizerSettings{}, Tokens{2048},
                               deal_shards(small_shape(), 3).of(rank));
    }
    void step(int number, model::Parameters& buffer)
    {
        for (auto& rank : ranks)
            test::step(rank, buffer, gradients_of_step(number), {static_cast<double>(number), 20});
    }
    std::vector<Optimizer> ranks;
    Optimizer one = test::whole_optimizer(small_shape());
    model::Parameters weights = model::initial_parameters(small_shape(), 1);
    model::Parameters weights_of_one = weights.clone();
};

TEST_F(ThreeRanks, MakeTheStepsOfOne)
{
    auto const before = weights.clone();
    for (int number = 0; number < 4; ++number) {
        step(number, weights);
        test::step(one, weights_of_one, gradients_of_step(number),
                   {static_cast<double>(number), 20});
    }
    // A batch of fewer matrices may be computed in another order.
    EXPECT_LT(test::update_error(weights, weights_of_one, before), test::same_update);
    EXPECT_FALSE(at::equal(weights.flat(), before.flat()));
}

TEST_F(ThreeRanks, HoldTheStateOfOne)
{
    step(0, weights);
    test::step(one, weights_of_one, gradients_of_step(0), {0, 20});
    auto const together = test::state_of(ranks);
    auto const whole = test::state_of(one);
    ASSERT_EQ(together.tensors.size(), whole.tensors.size());
    for (auto const& [name, tensor] : whole.tensors)
        EXPECT_TRUE(together.tensors.at(name).allclose(tensor, 1e-4, 1e-9)) << name;
    EXPECT_EQ(together.steps, 1);
}

TEST_F(ThreeRanks, ContinueFromTheStateOfOne)
{
    step(0, weights);
    auto const saved = test::state_of(ranks);
    test::restore(one, saved);
    for (auto const& [name, tensor] : test::state_of(one).tensors)
        EXPECT_TRUE(at::equal(tensor, saved.tensors.at(name))) << name;
    auto const before = weights.clone();
    weights_of_one = weights.clone();
    step(1, weights);
    test::step(one, weights_of_one, gradients_of_step(1), {1, 20});
    EXPECT_LT(test::update_error(weights, weights_of_one, before), test::same_update);
}

}  // namespace
}  // namespace curtail::optim
