// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "run/config/model.hpp"

namespace curtail::optim {

/// A range of the buffer of parameters that one rank updates: a whole matrix of a layer, or a part
/// of another parameter.
struct ParameterRange {
    std::size_t parameter{};  ///< index in model::parameter_places()
    std::int64_t offset{};    ///< index of its first element in the buffer
    std::int64_t count{};     ///< number of elements
    friend bool operator==(ParameterRange const&, ParameterRange const&) = default;
};

/// Parameters whose gradients the ranks exchange together: those of one section of a pass
/// (model::PassObserver), or of a group of layers.
struct GradientBucket {
    /// The ranges of each rank, in the order of the buffer.
    std::vector<std::vector<ParameterRange>> of_rank;
    /// Elements in the largest share of a rank, rounded up to a multiple of 16. Exchanges of equal
    /// size fill up the others.
    std::int64_t chunk{};
};

/// How the ranks of a site share the optimizer's work: every element of the buffer belongs to one
/// range of one rank.
struct Shards {
    /// In the order in which a backward pass completes the gradients: the head, the groups of
    /// layers from the last to the first, the other parameters.
    std::vector<GradientBucket> buckets;
    /// The bucket of each section, in ascending order.
    std::vector<std::size_t> bucket_of;
    /// Returns whether a backward pass completes the section last of all sections in its bucket.
    [[nodiscard]] bool ends_bucket(std::size_t section) const;
    /// Returns the ranges of `rank` in the order of the buckets.
    [[nodiscard]] std::vector<ParameterRange> of(int rank) const;
};

/// Deals the parameters to `ranks` ranks. Matrices of the layers stay whole, because Muon needs
/// them whole. One layer has too few matrices for equal shares of many ranks, so that exchanges of
/// equal size would send more padding than parameters. Consecutive layers therefore form groups.
/// Within a group, the shares have nearly the same number of elements; the share with the most work
/// goes to the rank with the least work so far. All other parameters are split evenly. Depends on
/// the arguments only. Throws std::invalid_argument if `ranks` is less than 1.
[[nodiscard]] Shards deal_shards(config::Model const& shape, int ranks);

}  // namespace curtail::optim
