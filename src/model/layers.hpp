// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

/// The parts of the GPT that are not a matrix product (docs/model.md has the formulas), written
/// once with ATen operators: derivatives are those of LibTorch's autograd, except for the head's
/// loss. Operators and their order are those of the reference: on the same kind of processor all
/// results are the same to the bit. Letters: N tokens (B T), C width, H query heads, K key/value
/// heads, D head size, V vocabulary.
namespace curtail::model {

/// x / sqrt(mean(x^2) + eps) over the last dimension, eps being the machine epsilon of x's type.
[[nodiscard]] at::Tensor rms_norm(at::Tensor const& x);

/// Rotary position embedding, base 10000, halves: (x1 cos + x2 sin, -x1 sin + x2 cos). Tables
/// rounded to bfloat16 as the reference's.
class Rotary {
  public:
    Rotary(std::int64_t sequence, std::int64_t head_size, at::ScalarType type);
    [[nodiscard]] at::Tensor rotate(
        at::Tensor const& x) const;  ///< (B, T, heads, D) -> new tensor of that shape

  private:
    at::Tensor cos_, sin_;  ///< (sequence, 1, D / 2)
};

/// Causal softmax(q k^T / sqrt(D)) v: q (B, T, H, D), k and v (B, T, K, D) -> (B, T, H, D). Query
/// head h reads key/value head h K / H.
[[nodiscard]] at::Tensor attend(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v);

/// Logits 15 tanh(x W^T / 15), without the rows of W that only pad the vocabulary. x (N, C), W
/// (padded V, C) -> (N, V).
[[nodiscard]] at::Tensor softcapped_logits(at::Tensor const& x, at::Tensor const& head,
                                           std::int64_t vocabulary);

/// Cross entropy of the softcapped logits, in nats, per token; 0 where target is -1. target (N),
/// int64 -> (N). Not differentiable. Works through the tokens in slices, so that logits of all
/// tokens never exist together.
[[nodiscard]] at::Tensor head_losses(at::Tensor const& x, at::Tensor const& head,
                                     at::Tensor const& target, std::int64_t vocabulary);

struct HeadLoss {
    at::Tensor total;   ///< (): scale * sum of losses; differentiable once in x and W
    at::Tensor losses;  ///< (N) as head_losses
};
/// The same for training. Derivatives are worked out slice by slice along with the losses and wait
/// for the backward pass (docs/adr/0005-head-has-its-own-derivative.md).
[[nodiscard]] HeadLoss head_loss(at::Tensor const& x, at::Tensor const& head,
                                 at::Tensor const& target, std::int64_t vocabulary, double scale);

}  // namespace curtail::model
