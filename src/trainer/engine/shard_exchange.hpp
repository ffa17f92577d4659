// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/comm/collectives.hpp"
#include "trainer/engine/pinned_memory.hpp"
#include "trainer/model/optim/shards.hpp"
#include "trainer/model/parameters.hpp"

namespace curtail::trainer {

/// Exchanges gradients and weights between the ranks of a site. Every rank has all weights, but
/// updates only its own ranges (trainer/model/optim/shards.hpp). It has a second copy of these
/// ranges in float32, its masters. A step therefore changes the weights on all ranks or on none.
///
/// All tensors are on one device. If `collectives` work on device memory, exchanges overlap with
/// other work: those of gradients_complete() with the backward pass, and those of distribute() with
/// the next forward pass. Otherwise, both functions return when the exchange is done.
///
/// The index of a section is that of model::PassObserver. The ranks exchange whole buckets
/// (optim::Shards).
///
/// All ranks must begin the sums of the buckets, and call sum(), distribute(), scatter() and
/// gather(), in the same order. `collectives` must outlive the object. A single rank does not use
/// them.
class ShardExchange {
  public:
    /// The weights have the type `type`.
    ShardExchange(optim::Shards shards, comm::Collectives& collectives,
                  c10::Device device = at::kCPU, at::ScalarType type = at::kFloat);

    /// Copies this rank's ranges of `weights` to the masters. Call it whenever the weights have
    /// been replaced.
    void load(model::Parameters const& weights);
    /// Returns the masters, in the order of Shards::of(rank): a tensor of one dimension per range.
    [[nodiscard]] std::span<at::Tensor const> masters() const { return masters_; }
    /// Returns this rank's shard: the masters one after the other, with zeros between buckets where
    /// another rank has a larger share.
    [[nodiscard]] at::Tensor const& master_values() const { return master_values_; }

    /// Returns whether exchanges overlap with other work.
    [[nodiscard]] bool overlaps() const { return collectives_.memory() == comm::Memory::device; }
    /// Notes that the gradients of a section, and of all sections before it, are complete. If the
    /// section is the last of its bucket, begins to add up the gradients of this bucket. sum() ends
    /// it.
    void gradients_complete(std::size_t section, model::Parameters const& gradients);
    /// Begins to add up the gradients of all buckets whose sums have not begun.
    void begin_sums(model::Parameters const& gradients);
    /// Adds up the gradients of all ranks, of all buckets. Returns those of this rank's ranges, in
    /// the order of the masters. They are valid until the next sum begins.
    [[nodiscard]] std::span<at::Tensor const> sum(model::Parameters const& gradients);

    /// Replaces `weights` on every rank by the masters of all ranks. If exchanges overlap,
    /// `weights` change in before_use() and receive_all().
    void distribute(model::Parameters& weights);
    /// Ends distribute() for the bucket of a section. Does nothing if it has ended.
    void before_use(std::size_t section, model::Parameters& weights);
    /// Ends distribute() for all buckets.
    void receive_all(model::Parameters& weights);

    /// Replaces the elements of `shard`, which has the layout of master_values(), by those of
    /// `whole`, in host memory. Rank 0 gives `whole`, a value for each parameter; other ranks
    /// ignore it.
    void scatter(std::span<float const> whole, at::Tensor const& shard);
    /// Collects the shards of all ranks in `whole` on rank 0, in host memory. Other ranks ignore
    /// `whole`.
    void gather(at::Tensor const& shard, std::span<float> whole);

  private:
    /// Room for the chunks of all ranks in one bucket.
    struct Chunks {
        at::Tensor values;
        std::uint64_t operations{};  ///< Collectives::enqueued() after the last one that used it
    };
    /// How far the exchange of a bucket is.
    struct ExchangeProgress {
        std::int64_t first{};  ///< index of the bucket's first element in a shard
        bool sum_begun{};      ///< since the last sum()
        bool to_receive{};     ///< since the last distribute()
        Chunks weights;        ///< of the weights' type
    };
    [[nodiscard]] std::size_t buckets() const { return shards_.buckets.size(); }
    [[nodiscard]] bool alone() const { return collectives_.size() == 1; }
    [[nodiscard]] std::vector<optim::ParameterRange> const& own(
        optim::GradientBucket const& bucket) const;
    void make_buffers(c10::Device device, at::ScalarType type);
    /// Returns this rank's chunk of a bucket in `shard`, a tensor with the layout of the masters.
    [[nodiscard]] at::Tensor chunk_in(at::Tensor const& shard, std::size_t bucket) const;
    /// Returns the part of `chunks` that a bucket uses.
    [[nodiscard]] at::Tensor chunks_of(std::size_t bucket, at::Tensor const& chunks) const;
    /// Calls body(range, its elements in `chunks`) for the ranges of all ranks in a bucket.
    template <class Body>
    void for_all_ranks(std::size_t bucket, at::Tensor const& chunks, Body const& body) const;
    void begin_sum(std::size_t bucket, model::Parameters const& gradients);
    void make_scalars(at::TensorOptions options);
    void send(std::size_t bucket);
    void send_scalars();
    void receive(std::size_t bucket, model::Parameters& weights);

    optim::Shards shards_;
    comm::Collectives& collectives_;
    HostCopy host_copy_;
    at::Tensor master_values_;  ///< the chunks of this rank, one per bucket
    at::Tensor gradient_values_;
    std::vector<Chunks> staging_;  ///< float32; used in turn
    std::size_t sums_{0};          ///< number of begun sums so far
    std::vector<ExchangeProgress> exchanged_;
    std::vector<at::Tensor> masters_;
    std::vector<at::Tensor> gradients_;
    at::Tensor scalars_;           ///< Parameters::scalars() of all ranks; undefined for float32
    std::int64_t first_scalar_{};  ///< index of their first one in the buffer of parameters
};

}  // namespace curtail::trainer
