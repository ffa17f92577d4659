// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/layers.hpp"
#include "model/parameters.hpp"

namespace curtail::model {

/// Sum of cross entropies over `count` targets. Sums of micro-batches and ranks add up.
struct LossSum {
    double sum{};          ///< nats
    std::int64_t count{};  ///< targets other than -1
    /// Nats per token.
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
    LossSum& operator+=(LossSum other);
};

/// nanochat's GPT (docs/model.md): weights, gradients of the same layout, forward and backward
/// pass.
///
/// input, target: (B, T) int64, T at most the model's sequence; targets of -1 are ignored. Throws
/// on token ids out of range and on another type or shape. Results depend only on weights and rows,
/// not on earlier calls.
class Gpt {
  public:
    explicit Gpt(Parameters weights);

    [[nodiscard]] config::Model const& shape() const { return weights_.shape(); }
    [[nodiscard]] Parameters& weights() { return weights_; }
    [[nodiscard]] Parameters const& weights() const { return weights_; }
    [[nodiscard]] Parameters& gradients() { return gradients_; }
    [[nodiscard]] Parameters const& gradients() const { return gradients_; }

    [[nodiscard]] at::Tensor logits(at::Tensor const& input) const;  ///< (B, T, V)
    /// (B, V): of the last position.
    [[nodiscard]] at::Tensor last_logits(at::Tensor const& input) const;
    /// (B, T) nats, 0 where ignored.
    [[nodiscard]] at::Tensor token_losses(at::Tensor const& input, at::Tensor const& target) const;
    [[nodiscard]] LossSum loss(at::Tensor const& input, at::Tensor const& target) const;

    /// Adds the derivative of scale * (sum of losses) to the gradients. With scale = 1 / (targets
    /// of the whole step on all ranks), summing over micro-batches and ranks gives the gradients of
    /// the step's mean loss.
    LossSum accumulate_gradients(at::Tensor const& input, at::Tensor const& target, double scale);
    void zero_gradients();

  private:
    /// The normalized output of the last block: (N, C) for N = B T tokens. Differentiable if
    /// `weights` are leaves.
    [[nodiscard]] at::Tensor forward(Parameters const& weights, at::Tensor const& input) const;
    [[nodiscard]] at::Tensor attention(BlockMatrices const& w, at::Tensor const& x,
                                       at::IntArrayRef batch) const;  ///< (N, C)

    Parameters weights_;
    Parameters gradients_;
    Rotary rotary_;
};

}  // namespace curtail::model
