// SPDX-License-Identifier: Apache-2.0
#include "trainer/engine/shard_exchange.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>

namespace curtail::trainer {
namespace {

// Calls body(range, its part of `chunk`) for ranges that stand in `chunk` one after the other.
template <class Body>
void for_parts(std::vector<optim::ParameterRange> const& ranges, at::Tensor const& chunk,
               Body const& body)
{
    std::int64_t first = 0;
    for (auto const& range : ranges) {
        body(range, chunk.narrow(0, first, range.count));
        first += range.count;
    }
}

at::Tensor part_of(model::Parameters const& all, optim::ParameterRange const& range)
{
    return all.range(range.offset, range.count);
}

// The memory of `tensor` as floats, whatever its type: exchanges copy bits.
std::span<float> values(at::Tensor const& tensor)
{
    return {static_cast<float*>(tensor.mutable_data_ptr()),
            static_cast<std::size_t>(tensor.nbytes()) / sizeof(float)};
}

// The elements of `range` in a vector of all parameters.
at::Tensor part_of(std::span<float const> whole, optim::ParameterRange const& range)
{
    auto* const first = const_cast<float*>(whole.data()) + range.offset;
    return at::from_blob(first, {range.count}, at::TensorOptions(at::kFloat));
}

// Copies the elements of `ranges` to the beginning of `chunk`, and sets the others to zero.
void fill(std::vector<optim::ParameterRange> const& ranges, std::span<float const> whole,
          at::Tensor const& chunk, HostCopy& host)
{
    std::int64_t end = 0;
    for_parts(ranges, chunk, [&](optim::ParameterRange const& range, at::Tensor const& part) {
        host.copy(part_of(whole, range), part);
        end += range.count;
    });
    chunk.narrow(0, end, chunk.numel() - end).zero_();
}

at::Tensor chunk_of_rank(at::Tensor const& chunks, int rank, int ranks)
{
    auto const chunk = chunks.numel() / ranks;
    return chunks.narrow(0, rank * chunk, chunk);
}

}  // namespace

ShardExchange::ShardExchange(optim::Shards shards, comm::Collectives& collectives,
                             c10::Device device, at::ScalarType type)
    : shards_(std::move(shards)),
      collectives_(collectives),
      host_copy_(device),
      exchanged_(shards_.buckets.size())
{
    make_buffers(device, type);
    for (std::size_t bucket = 0; bucket < buckets(); ++bucket) {
        auto const keep = [&](at::Tensor const& shard, std::vector<at::Tensor>& parts) {
            for_parts(own(shards_.buckets[bucket]), chunk_in(shard, bucket),
                      [&](optim::ParameterRange const&, at::Tensor const& part) {
                          parts.push_back(part);
                      });
        };
        keep(master_values_, masters_);
        if (!alone()) keep(gradient_values_, gradients_);
    }
}

void ShardExchange::make_buffers(c10::Device device, at::ScalarType type)
{
    std::int64_t total = 0;
    std::int64_t largest = 0;
    for (std::size_t bucket = 0; bucket < buckets(); ++bucket) {
        exchanged_[bucket].first = total;
        total += shards_.buckets[bucket].chunk;
        largest = std::max(largest, shards_.buckets[bucket].chunk);
    }
    auto const options = at::TensorOptions(at::kFloat).device(device);
    master_values_ = at::zeros({total}, options);
    if (alone()) return;
    if (type != at::kFloat) make_scalars(options);
    gradient_values_ = at::zeros({total}, options);
    staging_.resize(overlaps() ? 2 : 1);
    for (auto& staging : staging_)
        staging.values = at::zeros({largest * collectives_.size()}, options);
    // Without overlap, the ranks receive a bucket before they send the next.
    auto const shared =
        at::zeros({overlaps() ? 0 : largest * collectives_.size()}, options.dtype(type));
    for (std::size_t bucket = 0; bucket < buckets(); ++bucket)
        exchanged_[bucket].weights.values =
            overlaps() ? at::zeros({shards_.buckets[bucket].chunk * collectives_.size()},
                                   options.dtype(type))
                       : chunks_of(bucket, shared);
}

// The scalars are the parameters of the last bucket after the embedding, which is the first of all.
void ShardExchange::make_scalars(at::TensorOptions options)
{
    std::int64_t end = 0;
    first_scalar_ = std::numeric_limits<std::int64_t>::max();
    for (auto const& ranges : shards_.buckets.back().of_rank)
        for (auto const& range : ranges)
            if (range.parameter != 0) {
                first_scalar_ = std::min(first_scalar_, range.offset);
                end = std::max(end, range.offset + range.count);
            }
    scalars_ = at::zeros({end - first_scalar_}, options);
}

std::vector<optim::ParameterRange> const& ShardExchange::own(
    optim::GradientBucket const& bucket) const
{
    return bucket.of_rank[static_cast<std::size_t>(collectives_.rank())];
}

at::Tensor ShardExchange::chunk_in(at::Tensor const& shard, std::size_t bucket) const
{
    return shard.narrow(0, exchanged_[bucket].first, shards_.buckets[bucket].chunk);
}

at::Tensor ShardExchange::chunks_of(std::size_t bucket, at::Tensor const& chunks) const
{
    return chunks.narrow(0, 0, shards_.buckets[bucket].chunk * collectives_.size());
}

template <class Body>
void ShardExchange::for_all_ranks(std::size_t bucket, at::Tensor const& chunks,
                                  Body const& body) const
{
    auto const& of_rank = shards_.buckets[bucket].of_rank;
    for (int rank = 0; rank < collectives_.size(); ++rank)
        for_parts(of_rank[static_cast<std::size_t>(rank)],
                  chunk_of_rank(chunks, rank, collectives_.size()), body);
}

void ShardExchange::load(model::Parameters const& weights)
{
    std::size_t next = 0;
    for (auto const& bucket : shards_.buckets)
        for (auto const& range : own(bucket)) masters_[next++].copy_(part_of(weights, range));
}

void ShardExchange::gradients_complete(std::size_t section, model::Parameters const& gradients)
{
    if (shards_.ends_bucket(section)) begin_sum(shards_.bucket_of[section], gradients);
}

void ShardExchange::begin_sums(model::Parameters const& gradients)
{
    for (std::size_t bucket = 0; bucket < buckets(); ++bucket) begin_sum(bucket, gradients);
}

void ShardExchange::begin_sum(std::size_t bucket, model::Parameters const& gradients)
{
    if (alone() || exchanged_[bucket].sum_begun) return;
    auto& staging = staging_[sums_++ % staging_.size()];
    collectives_.finish(staging.operations);
    auto const chunks = chunks_of(bucket, staging.values);
    for_all_ranks(bucket, chunks, [&](optim::ParameterRange const& range, at::Tensor const& part) {
        part.copy_(part_of(gradients, range));
    });
    collectives_.reduce_scatter_sum(values(chunks), values(chunk_in(gradient_values_, bucket)));
    exchanged_[bucket].sum_begun = true;
    staging.operations = collectives_.enqueued();
}

std::span<at::Tensor const> ShardExchange::sum(model::Parameters const& gradients)
{
    if (alone()) {
        gradients_.clear();
        for (auto const& range : shards_.of(0)) gradients_.push_back(part_of(gradients, range));
        return gradients_;
    }
    begin_sums(gradients);
    for (auto& exchanged : exchanged_) exchanged.sum_begun = false;
    collectives_.finish();
    return gradients_;
}

// This rank's masters become its chunk of the weights.
void ShardExchange::send(std::size_t bucket)
{
    auto& exchanged = exchanged_[bucket];
    collectives_.finish(exchanged.weights.operations);
    auto const own_chunk =
        chunk_of_rank(exchanged.weights.values, collectives_.rank(), collectives_.size());
    own_chunk.copy_(chunk_in(master_values_, bucket));
    collectives_.all_gather(values(own_chunk), values(exchanged.weights.values));
    if (bucket + 1 == buckets() && scalars_.defined()) send_scalars();
    exchanged.weights.operations = collectives_.enqueued();
    exchanged.to_receive = true;
}

// The scalars in float32: each rank has its own, and zeros for the others.
void ShardExchange::send_scalars()
{
    scalars_.zero_();
    auto const& ranges = own(shards_.buckets.back());
    for_parts(ranges, chunk_in(master_values_, buckets() - 1),
              [&](optim::ParameterRange const& range, at::Tensor const& part) {
                  if (range.offset >= first_scalar_)
                      scalars_.narrow(0, range.offset - first_scalar_, range.count).copy_(part);
              });
    collectives_.all_reduce_sum(values(scalars_));
}

void ShardExchange::distribute(model::Parameters& weights)
{
    if (alone()) {
        std::size_t next = 0;
        for (auto const& range : shards_.of(0)) weights.set(range.offset, masters_[next++]);
        return;
    }
    // A forward pass uses the last bucket first.
    for (auto bucket = buckets(); bucket-- > 0;) {
        send(bucket);
        if (!overlaps()) receive(bucket, weights);
    }
}

void ShardExchange::before_use(std::size_t section, model::Parameters& weights)
{
    receive(shards_.bucket_of.at(section), weights);
}

void ShardExchange::receive(std::size_t bucket, model::Parameters& weights)
{
    auto& exchanged = exchanged_[bucket];
    if (!exchanged.to_receive) return;
    exchanged.to_receive = false;
    collectives_.finish(exchanged.weights.operations);
    for_all_ranks(bucket, exchanged.weights.values,
                  [&](optim::ParameterRange const& range, at::Tensor const& part) {
                      weights.set(range.offset, part);
                  });
    if (bucket + 1 == buckets() && scalars_.defined()) weights.set(first_scalar_, scalars_);
}

void ShardExchange::receive_all(model::Parameters& weights)
{
    for (auto bucket = buckets(); bucket-- > 0;) receive(bucket, weights);
}

void ShardExchange::scatter(std::span<float const> whole, at::Tensor const& shard)
{
    for (std::size_t bucket = 0; bucket < buckets(); ++bucket) {
        auto const own_chunk = chunk_in(shard, bucket);
        if (alone()) {
            fill(own(shards_.buckets[bucket]), whole, own_chunk, host_copy_);
            continue;
        }
        auto const chunks = chunks_of(bucket, staging_.front().values);
        auto const& of_rank = shards_.buckets[bucket].of_rank;
        if (collectives_.rank() == 0)
            for (int rank = 0; rank < collectives_.size(); ++rank)
                fill(of_rank[static_cast<std::size_t>(rank)], whole,
                     chunk_of_rank(chunks, rank, collectives_.size()), host_copy_);
        collectives_.broadcast(values(chunks), 0);
        collectives_.finish();
        collectives_.synchronize();
        own_chunk.copy_(chunk_of_rank(chunks, collectives_.rank(), collectives_.size()));
    }
}

void ShardExchange::gather(at::Tensor const& shard, std::span<float> whole)
{
    for (std::size_t bucket = 0; bucket < buckets(); ++bucket) {
        auto const own_chunk = chunk_in(shard, bucket);
        auto const chunks = alone() ? own_chunk : chunks_of(bucket, staging_.front().values);
        if (!alone()) {
            collectives_.all_gather(values(own_chunk), values(chunks));
            collectives_.finish();
            collectives_.synchronize();
        }
        if (collectives_.rank() != 0) continue;
        for_all_ranks(bucket, chunks,
                      [&](optim::ParameterRange const& range, at::Tensor const& part) {
                          host_copy_.copy(part, part_of(whole, range));
                      });
    }
}

}  // namespace curtail::trainer
