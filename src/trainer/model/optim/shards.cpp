// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/optim/shards.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "trainer/model/parameters.hpp"

namespace curtail::optim {
namespace {

constexpr std::size_t matrices_per_layer = 6;
// Ranges of a split parameter begin at multiples of this number of elements. Chunks have a multiple
// of it.
constexpr std::int64_t split_elements = 16;

// The numbers of layers in the groups, in the order of the buckets. `chunks[k]` is the chunk of k
// layers.
//
// An exchange lasts as long as its chunk is large. The pass hides all exchanges but the last if it
// is long, and hardly any if it is short. The sum of all chunks and of the largest counts both.
std::vector<std::size_t> group_layers(std::vector<std::int64_t> const& chunks)
{
    auto const layers = chunks.size() - 1;
    auto const cost = [&](std::size_t groups) {
        auto const size = layers / groups;
        auto const larger = layers % groups;  // number of groups with one more layer
        auto const sum = static_cast<std::int64_t>(groups - larger) * chunks[size] +
                         (larger > 0 ? static_cast<std::int64_t>(larger) * chunks[size + 1] : 0);
        return sum + chunks[larger > 0 ? size + 1 : size];
    };
    auto best = layers;
    for (auto groups = layers - 1; groups > 0; --groups)
        if (cost(groups) < cost(best)) best = groups;
    // The larger groups first, because the last exchange has nothing to overlap with.
    std::vector<std::size_t> sizes(best, layers / best);
    for (std::size_t k = 0; k < layers % best; ++k) ++sizes[k];
    return sizes;
}

class Dealer {
  public:
    Dealer(config::Model const& shape, int ranks)
        : places_(model::parameter_places(shape)), head_(places_.size() - 3)
    {
        if (ranks < 1) throw std::invalid_argument("at least one rank must hold the parameters");
        work_.resize(static_cast<std::size_t>(ranks));
    }

    Shards deal()
    {
        Shards shards;
        auto const add = [&](GradientBucket bucket, std::size_t sections) {
            shards.bucket_of.insert(shards.bucket_of.end(), sections, shards.buckets.size());
            shards.buckets.push_back(std::move(bucket));
        };
        add(split({head_}), 1);
        auto end = head_;
        for (auto const layers : group_layers(chunks())) {
            auto const first = end - layers * matrices_per_layer;
            add(deal_group(first, end), layers);
            end = first;
        }
        add(split({0, head_ + 1, head_ + 2}), 1);
        return shards;
    }

  private:
    [[nodiscard]] GradientBucket empty() const
    {
        return {decltype(GradientBucket::of_rank)(work_.size()), 0};
    }

    static void finish(GradientBucket& bucket)
    {
        for (auto& ranges : bucket.of_rank) {
            std::ranges::sort(ranges, {}, &ParameterRange::offset);
            std::int64_t elements = 0;
            for (auto const& range : ranges) elements += range.count;
            auto const units = (elements + split_elements - 1) / split_elements;
            bucket.chunk = std::max(bucket.chunk, units * split_elements);
        }
    }

    // The matrices [first, end), the largest first, each to the rank with the fewest elements.
    [[nodiscard]] GradientBucket pack(std::size_t first, std::size_t end) const
    {
        std::vector<std::size_t> order(end - first);
        std::iota(order.begin(), order.end(), first);
        std::ranges::stable_sort(order, std::greater{},
                                 [&](std::size_t matrix) { return places_[matrix].numel(); });
        auto bucket = empty();
        std::vector<std::int64_t> elements(work_.size());
        for (auto const matrix : order) {
            auto const least = std::min_element(elements.begin(), elements.end());
            ParameterRange const range{matrix, places_[matrix].offset, places_[matrix].numel()};
            bucket.of_rank[static_cast<std::size_t>(least - elements.begin())].push_back(range);
            *least += range.count;
        }
        finish(bucket);
        return bucket;
    }

    // The chunk of each number of layers. All layers have the same shapes.
    [[nodiscard]] std::vector<std::int64_t> chunks() const
    {
        std::vector<std::int64_t> all;
        for (std::size_t first = 1; first <= head_; first += matrices_per_layer)
            all.push_back(pack(1, first).chunk);
        return all;
    }

    // Multiplications in one step of Muon's iteration: x x^T, its square, and the product with x.
    [[nodiscard]] double work_of(std::vector<ParameterRange> const& matrices) const
    {
        double sum = 0;
        for (auto const& range : matrices) {
            auto const [small, large] = std::ranges::minmax(places_[range.parameter].shape);
            auto const side = static_cast<double>(small);
            sum += side * side * (2 * static_cast<double>(large) + side);
        }
        return sum;
    }

    GradientBucket deal_group(std::size_t first, std::size_t end)
    {
        auto packed = pack(first, end);
        std::ranges::stable_sort(packed.of_rank, std::greater{},
                                 [&](auto const& ranges) { return work_of(ranges); });
        std::vector<std::size_t> ranks(work_.size());
        std::iota(ranks.begin(), ranks.end(), std::size_t{0});
        std::ranges::stable_sort(ranks, {}, [&](std::size_t rank) { return work_[rank]; });
        GradientBucket bucket{std::vector<std::vector<ParameterRange>>(ranks.size()), packed.chunk};
        for (std::size_t k = 0; k < ranks.size(); ++k) {
            work_[ranks[k]] += work_of(packed.of_rank[k]);
            bucket.of_rank[ranks[k]] = std::move(packed.of_rank[k]);
        }
        return bucket;
    }

    // Every parameter in equal ranges, one per rank.
    [[nodiscard]] GradientBucket split(std::vector<std::size_t> const& parameters) const
    {
        auto bucket = empty();
        auto const ranks = static_cast<std::int64_t>(work_.size());
        for (auto const parameter : parameters) {
            auto const total = places_[parameter].numel();
            auto const units = (total + split_elements - 1) / split_elements;
            for (std::int64_t rank = 0; rank < ranks; ++rank) {
                auto const begin = std::min(total, units * rank / ranks * split_elements);
                auto const end = std::min(total, units * (rank + 1) / ranks * split_elements);
                if (end > begin)
                    bucket.of_rank[static_cast<std::size_t>(rank)].push_back(
                        {parameter, places_[parameter].offset + begin, end - begin});
            }
        }
        finish(bucket);
        return bucket;
    }

    // The embedding, the matrices of each layer, the head, resid_lambdas, x0_lambdas.
    std::vector<model::ParameterPlace> places_;
    std::size_t head_;          // index in places_
    std::vector<double> work_;  // of each rank so far
};

}  // namespace

std::vector<ParameterRange> Shards::of(int rank) const
{
    std::vector<ParameterRange> all;
    for (auto const& bucket : buckets) {
        auto const& ranges = bucket.of_rank.at(static_cast<std::size_t>(rank));
        all.insert(all.end(), ranges.begin(), ranges.end());
    }
    return all;
}

bool Shards::ends_bucket(std::size_t section) const
{
    return section + 1 == bucket_of.size() || bucket_of[section + 1] != bucket_of.at(section);
}

Shards deal_shards(config::Model const& shape, int ranks) { return Dealer(shape, ranks).deal(); }

}  // namespace curtail::optim
