// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "model/layers.hpp"
#include "model/parameters.hpp"

namespace curtail::model {

/// Sum of cross entropies and how many targets it is over; adds up over micro-batches and ranks.
struct LossSum {
    double sum{};          ///< nats
    std::int64_t count{};  ///< targets other than -1
    [[nodiscard]] double mean() const
    {
        return sum / static_cast<double>(count);
    }  ///< nats per token
    LossSum& operator+=(LossSum other);
};

/// nanochat's GPT (docs/model.md): weights, gradients of the same layout, and the passes between
/// them.
///
/// input, target: (B, T) int64 with T up to the shape's sequence; target -1 is ignored. Token ids
/// out of range, another type or another shape are broken contracts and throw. Results depend on
/// weights and rows only, not on what was computed before.
class Gpt {
  public:
    explicit Gpt(Parameters weights);

    [[nodiscard]] config::Model const& shape() const { return weights_.shape(); }
    [[nodiscard]] Parameters& weights() { return weights_; }
    [[nodiscard]] Parameters const& weights() const { return weights_; }
    [[nodiscard]] Parameters& gradients() { return gradients_; }
    [[nodiscard]] Parameters const& gradients() const { return gradients_; }

    [[nodiscard]] at::Tensor logits(at::Tensor const& input) const;  ///< (B, T, V)
    [[nodiscard]] at::Tensor last_logits(
        at::Tensor const& input) const;  ///< (B, V): of the last position
    [[nodiscard]] at::Tensor token_losses(
        at::Tensor const& input, at::Tensor const& target) const;  ///< (B, T) nats, 0 where ignored
    [[nodiscard]] LossSum loss(at::Tensor const& input, at::Tensor const& target) const;

    /// Adds the derivative of scale * (sum of losses) to the gradients. With scale = 1 / (targets
    /// of the whole step over all ranks), gradients summed over micro-batches and ranks are those
    /// of the step's mean loss.
    LossSum accumulate_gradients(at::Tensor const& input, at::Tensor const& target, double scale);
    void zero_gradients();

  private:
    /// Of the last block's output, rms: (N, C) for N = B T tokens. Differentiable if `weights` are
    /// leaves.
    [[nodiscard]] at::Tensor forward(Parameters const& weights, at::Tensor const& input) const;
    [[nodiscard]] at::Tensor attention(BlockMatrices const& w, at::Tensor const& x,
                                       at::IntArrayRef batch) const;  ///< (N, C)

    Parameters weights_;
    Parameters gradients_;
    Rotary rotary_;
};

}  // namespace curtail::model
