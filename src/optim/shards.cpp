// SPDX-License-Identifier: Apache-2.0
#include "optim/shards.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "model/parameters.hpp"

namespace curtail::optim {
namespace {

constexpr std::size_t matrices_per_layer = 6;
// Ranges of a split parameter begin at multiples of this number of elements. Chunks have a multiple
// of it.
constexpr std::int64_t split_elements = 16;

// Multiplications in one step of Muon's iteration: x x^T, its square, and the product with x.
double work_of(model::ParameterPlace const& matrix)
{
    auto const rows = static_cast<double>(matrix.shape[0]);
    auto const columns = static_cast<double>(matrix.shape[1]);
    double const small = std::min(rows, columns);
    return small * small * (2 * std::max(rows, columns) + small);
}

class Dealer {
  public:
    Dealer(config::Model const& shape, int ranks)
        : places_(model::parameter_places(shape)), work_(static_cast<std::size_t>(ranks))
    {
        if (ranks < 1) throw std::invalid_argument("at least one rank must hold the parameters");
    }

    Shards deal()
    {
        // The places: embedding, the matrices of each layer, head, resid_lambdas, x0_lambdas.
        auto const head = places_.size() - 3;
        Shards shards{{split({head})}};
        for (auto end = head; end > 1; end -= matrices_per_layer)
            shards.buckets.push_back(deal_layer(end - matrices_per_layer));
        shards.buckets.push_back(split({0, head + 1, head + 2}));
        return shards;
    }

  private:
    [[nodiscard]] Bucket empty() const
    {
        return {std::vector<std::vector<Piece>>(work_.size()), 0};
    }

    static void finish(Bucket& bucket)
    {
        for (auto& pieces : bucket.of_rank) {
            std::sort(pieces.begin(), pieces.end(),
                      [](Piece const& a, Piece const& b) { return a.offset < b.offset; });
            std::int64_t elements = 0;
            for (auto const& piece : pieces) elements += piece.count;
            auto const padded = (elements + split_elements - 1) / split_elements * split_elements;
            bucket.chunk = std::max(bucket.chunk, padded);
        }
    }

    // Matrices first, first + 1, ..., each to the rank with the least work.
    Bucket deal_layer(std::size_t first)
    {
        std::vector<std::size_t> order(matrices_per_layer);
        std::iota(order.begin(), order.end(), first);
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return work_of(places_[a]) > work_of(places_[b]);
        });
        auto bucket = empty();
        for (auto const matrix : order) {
            auto const rank = static_cast<std::size_t>(
                std::min_element(work_.begin(), work_.end()) - work_.begin());
            work_[rank] += work_of(places_[matrix]);
            bucket.of_rank[rank].push_back(
                {matrix, places_[matrix].offset, places_[matrix].numel()});
        }
        finish(bucket);
        return bucket;
    }

    // Every parameter in equal ranges, one per rank.
    [[nodiscard]] Bucket split(std::vector<std::size_t> const& parameters) const
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

    std::vector<model::ParameterPlace> places_;
    std::vector<double> work_;  // of each rank so far
};

}  // namespace

std::vector<Piece> Shards::of(int rank) const
{
    std::vector<Piece> all;
    for (auto const& bucket : buckets) {
        auto const& pieces = bucket.of_rank.at(static_cast<std::size_t>(rank));
        all.insert(all.end(), pieces.begin(), pieces.end());
    }
    return all;
}

Shards deal_shards(config::Model const& shape, int ranks) { return Dealer(shape, ranks).deal(); }

}  // namespace curtail::optim
