// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "config/model.hpp"

namespace curtail::optim {

/// A range of the buffer of parameters that one rank updates: a whole matrix of a layer, or a part
/// of another parameter.
struct Piece {
    std::size_t parameter{};  ///< index in model::parameter_places()
    std::int64_t offset{};    ///< index of its first element in the buffer
    std::int64_t count{};     ///< number of elements
    friend bool operator==(Piece const&, Piece const&) = default;
};

/// Parameters whose gradients the ranks exchange together.
struct Bucket {
    /// The pieces of each rank, in the order of the buffer.
    std::vector<std::vector<Piece>> of_rank;
    /// Elements in the largest share of a rank, rounded up to a multiple of 16. Exchanges of equal
    /// size fill up the others.
    std::int64_t chunk{};
};

/// How the ranks of a site share the optimizer's work: every element of the buffer belongs to one
/// piece of one rank.
struct Shards {
    /// In the order in which a backward pass completes the gradients: the head, the layers from the
    /// last to the first, the other parameters.
    std::vector<Bucket> buckets;
    /// Returns the pieces of `rank` in the order of the buckets.
    [[nodiscard]] std::vector<Piece> of(int rank) const;
};

/// Deals the parameters to `ranks` ranks. Matrices of the layers stay whole, because Muon needs
/// them whole. Each goes to the rank with the least work so far, the largest of a layer first. All
/// other parameters are split evenly. Depends on the arguments only.
[[nodiscard]] Shards deal_shards(config::Model const& shape, int ranks);

}  // namespace curtail::optim
