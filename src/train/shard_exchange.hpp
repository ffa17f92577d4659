// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "comm/collectives.hpp"
#include "model/parameters.hpp"
#include "optim/shards.hpp"

namespace curtail::train {

/// Exchanges gradients and weights between the ranks of a site. Every rank has all weights, but
/// updates only its own pieces (optim/shards.hpp). It has a second copy of these pieces, its
/// masters. A step therefore changes the weights on all ranks or on none.
///
/// All ranks must call the same functions in the same order. `collectives` must outlive the object.
class ShardExchange {
  public:
    ShardExchange(optim::Shards shards, comm::Collectives& collectives);

    /// Copies this rank's pieces of `weights` to the masters. Call it whenever the weights have
    /// been replaced.
    void load(model::Parameters const& weights);
    /// Returns the masters, in the order of Shards::of(rank): a tensor of one dimension per piece.
    [[nodiscard]] std::span<at::Tensor const> masters() const { return masters_; }
    /// Returns this rank's shard: the masters one after the other, with zeros between buckets where
    /// another rank has a larger share.
    [[nodiscard]] at::Tensor const& master_values() const { return master_values_; }
    /// Adds up the gradients of all ranks. Returns those of this rank's pieces, in the order of
    /// the masters. They are valid until the next call.
    [[nodiscard]] std::span<at::Tensor const> sum(model::Parameters const& gradients);
    /// Replaces `weights` on every rank by the masters of all ranks.
    void distribute(model::Parameters& weights);
    /// Replaces the elements of `shard`, which has the layout of master_values(), by those of
    /// `whole`. Rank 0 gives `whole`, a value for each parameter; other ranks ignore it.
    void scatter(std::span<float const> whole, at::Tensor const& shard);
    /// Collects the shards of all ranks in `whole` on rank 0. Other ranks ignore `whole`.
    void gather(at::Tensor const& shard, std::span<float> whole);

  private:
    [[nodiscard]] std::vector<optim::Piece> const& own(optim::Bucket const& bucket) const;
    /// Returns the part of `all_ranks_` that a bucket uses: a chunk for each rank.
    [[nodiscard]] at::Tensor chunks_of(optim::Bucket const& bucket) const;
    /// Calls body(bucket, index of its first element in a shard) for all buckets.
    template <class Body>
    void for_buckets(Body const& body) const;
    /// Calls body(piece, its elements in `all_ranks_`) for the pieces of all ranks in a bucket.
    template <class Body>
    void for_all_ranks(optim::Bucket const& bucket, Body const& body) const;

    optim::Shards shards_;
    comm::Collectives& collectives_;
    at::Tensor master_values_;  ///< the chunks of this rank, one per bucket
    at::Tensor gradient_values_;
    at::Tensor all_ranks_;  ///< room for the chunks of all ranks in one bucket
    std::vector<at::Tensor> masters_;
    std::vector<at::Tensor> gradients_;
};

}  // namespace curtail::train
