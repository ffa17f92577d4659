// SPDX-License-Identifier: Apache-2.0
#pragma once

// Three parts of the GPT that have no weights: normalization, rotary position embedding and
// attention (formulas: docs/model.md). They are written with LibTorch's operators, and LibTorch
// differentiates them. The operators and their order are those of nanochat, so all results are
// bit-identical to nanochat's on the same type of processor.
//
// In the comments, B is the number of rows, T the tokens of a row, C the width, and D the size of a
// head. H is the number of query heads and K the number of key/value heads.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace curtail::model {

/// Returns x / sqrt(mean(x^2) + eps), with the mean over the last dimension. eps is the machine
/// epsilon of the type of x.
[[nodiscard]] at::Tensor rms_norm(at::Tensor const& x);

/// Rotary position embedding with base 10000. Splits each head into halves x1 and x2 and returns
/// (x1 cos + x2 sin, -x1 sin + x2 cos). The tables of cos and sin are rounded to bfloat16, as in
/// nanochat.
class Rotary {
  public:
    /// Makes tables for positions 0 to sequence - 1.
    Rotary(std::int64_t sequence, std::int64_t head_size, at::ScalarType type);
    /// Rotates x (B, T, heads, D). Returns a new tensor of the same shape.
    [[nodiscard]] at::Tensor rotate(at::Tensor const& x) const;

  private:
    at::Tensor cos_, sin_;  ///< (sequence, 1, D / 2)
};

/// Returns the causal attention softmax(q k^T / sqrt(D)) v: (B, T, H, D). q has the shape
/// (B, T, H, D), k and v have (B, T, K, D). Query head h uses the key/value head floor(h K / H).
[[nodiscard]] at::Tensor attend(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v);

}  // namespace curtail::model
