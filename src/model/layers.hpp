// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

/// The parts of the GPT other than matrix products, written with ATen operators (formulas:
/// docs/model.md). LibTorch's autograd differentiates them. Operators and their order are the
/// reference's, so on the same type of processor all results are bitwise equal.
/// Letters: B batch, T sequence, C width, H query heads, K key/value heads, D head size.
namespace curtail::model {

/// x / sqrt(mean(x^2) + eps) over the last dimension; eps is the machine epsilon of x's type.
[[nodiscard]] at::Tensor rms_norm(at::Tensor const& x);

/// Rotary position embedding, base 10000, halves: (x1 cos + x2 sin, -x1 sin + x2 cos). The
/// tables are rounded to bfloat16, as in the reference.
class Rotary {
  public:
    Rotary(std::int64_t sequence, std::int64_t head_size, at::ScalarType type);
    /// (B, T, heads, D) -> a new tensor of that shape.
    [[nodiscard]] at::Tensor rotate(at::Tensor const& x) const;

  private:
    at::Tensor cos_, sin_;  ///< (sequence, 1, D / 2)
};

/// Causal softmax(q k^T / sqrt(D)) v: q (B, T, H, D), k and v (B, T, K, D) -> (B, T, H, D). Query
/// head h reads key/value head h K / H.
[[nodiscard]] at::Tensor attend(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v);

}  // namespace curtail::model
