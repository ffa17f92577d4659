// SPDX-License-Identifier: Apache-2.0
#include "train/shard_exchange.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace curtail::train {
namespace {

// Calls body(piece, its part of `chunk`) for pieces that stand in `chunk` one after the other.
template <class Body>
void for_parts(std::vector<optim::Piece> const& pieces, at::Tensor const& chunk, Body const& body)
{
    std::int64_t first = 0;
    for (auto const& piece : pieces) {
        body(piece, chunk.narrow(0, first, piece.count));
        first += piece.count;
    }
}

at::Tensor part_of(model::Parameters const& all, optim::Piece const& piece)
{
    return all.flat().narrow(0, piece.offset, piece.count);
}

std::span<float> values(at::Tensor const& tensor)
{
    return {tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

// The elements of `piece` in a vector of all parameters.
at::Tensor part_of(std::span<float const> whole, optim::Piece const& piece)
{
    auto* const first = const_cast<float*>(whole.data()) + piece.offset;
    return at::from_blob(first, {piece.count}, at::TensorOptions(at::kFloat));
}

at::Tensor zeros(std::int64_t count) { return at::zeros({count}, at::TensorOptions(at::kFloat)); }

}  // namespace

ShardExchange::ShardExchange(optim::Shards shards, comm::Collectives& collectives)
    : shards_(std::move(shards)), collectives_(collectives)
{
    std::int64_t total = 0;
    std::int64_t largest = 0;
    for (auto const& bucket : shards_.buckets) {
        total += bucket.chunk;
        largest = std::max(largest, bucket.chunk);
    }
    master_values_ = zeros(total);
    gradient_values_ = zeros(total);
    all_ranks_ = zeros(largest * collectives_.size());
    std::int64_t first = 0;
    for (auto const& bucket : shards_.buckets) {
        auto const keep = [&](at::Tensor const& buffer, std::vector<at::Tensor>& parts) {
            for_parts(own(bucket), buffer.narrow(0, first, bucket.chunk),
                      [&](optim::Piece const&, at::Tensor part) { parts.push_back(part); });
        };
        keep(master_values_, masters_);
        keep(gradient_values_, gradients_);
        first += bucket.chunk;
    }
}

std::vector<optim::Piece> const& ShardExchange::own(optim::Bucket const& bucket) const
{
    return bucket.of_rank[static_cast<std::size_t>(collectives_.rank())];
}

void ShardExchange::load(model::Parameters const& weights)
{
    std::size_t next = 0;
    for (auto const& bucket : shards_.buckets)
        for (auto const& piece : own(bucket)) masters_[next++].copy_(part_of(weights, piece));
}

at::Tensor ShardExchange::chunks_of(optim::Bucket const& bucket) const
{
    auto const ranks = static_cast<std::int64_t>(bucket.of_rank.size());
    return all_ranks_.narrow(0, 0, ranks * bucket.chunk);
}

template <class Body>
void ShardExchange::for_buckets(Body const& body) const
{
    std::int64_t first = 0;
    for (auto const& bucket : shards_.buckets) {
        body(bucket, first);
        first += bucket.chunk;
    }
}

template <class Body>
void ShardExchange::for_all_ranks(optim::Bucket const& bucket, Body const& body) const
{
    for (std::size_t rank = 0; rank < bucket.of_rank.size(); ++rank)
        for_parts(
            bucket.of_rank[rank],
            all_ranks_.narrow(0, static_cast<std::int64_t>(rank) * bucket.chunk, bucket.chunk),
            body);
}

std::span<at::Tensor const> ShardExchange::sum(model::Parameters const& gradients)
{
    if (collectives_.size() == 1) {
        gradients_.clear();
        for (auto const& piece : shards_.of(0)) gradients_.push_back(part_of(gradients, piece));
        return gradients_;
    }
    for_buckets([&](optim::Bucket const& bucket, std::int64_t first) {
        for_all_ranks(bucket, [&](optim::Piece const& piece, at::Tensor const& part) {
            part.copy_(part_of(gradients, piece));
        });
        collectives_.reduce_scatter_sum(values(chunks_of(bucket)),
                                        values(gradient_values_.narrow(0, first, bucket.chunk)));
        collectives_.finish();
    });
    return gradients_;
}

void ShardExchange::distribute(model::Parameters& weights)
{
    if (collectives_.size() == 1) {
        std::size_t next = 0;
        for (auto const& piece : shards_.of(0)) part_of(weights, piece).copy_(masters_[next++]);
        return;
    }
    for_buckets([&](optim::Bucket const& bucket, std::int64_t first) {
        collectives_.all_gather(values(master_values_.narrow(0, first, bucket.chunk)),
                                values(chunks_of(bucket)));
        collectives_.finish();
        for_all_ranks(bucket, [&](optim::Piece const& piece, at::Tensor const& part) {
            part_of(weights, piece).copy_(part);
        });
    });
}

void ShardExchange::scatter(std::span<float const> whole, at::Tensor const& shard)
{
    for_buckets([&](optim::Bucket const& bucket, std::int64_t first) {
        auto const all = chunks_of(bucket);
        if (collectives_.rank() == 0)
            for_all_ranks(bucket, [&](optim::Piece const& piece, at::Tensor const& part) {
                part.copy_(part_of(whole, piece));
            });
        collectives_.broadcast(values(all), 0);
        collectives_.finish();
        shard.narrow(0, first, bucket.chunk)
            .copy_(all.narrow(0, collectives_.rank() * bucket.chunk, bucket.chunk));
    });
}

void ShardExchange::gather(at::Tensor const& shard, std::span<float> whole)
{
    for_buckets([&](optim::Bucket const& bucket, std::int64_t first) {
        collectives_.all_gather(values(shard.narrow(0, first, bucket.chunk)),
                                values(chunks_of(bucket)));
        collectives_.synchronize();
        if (collectives_.rank() != 0) return;
        for_all_ranks(bucket, [&](optim::Piece const& piece, at::Tensor const& part) {
            part_of(whole, piece).copy_(part);
        });
    });
}

}  // namespace curtail::train
