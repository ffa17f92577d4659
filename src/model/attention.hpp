// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include "model/kernels/kernels.hpp"

namespace curtail::model {

/// The result of a causal attention and what its derivative needs.
struct Attended {
    at::Tensor y;        ///< (N, H D)
    at::Tensor log_sum;  ///< logarithms of the softmax's sums, in the layout of ATen's operator
    /// State of the random numbers for dropout. The GPU's operators require it, although there is
    /// no dropout here. Undefined on the CPU.
    at::Tensor random_seed, random_offset;
};

/// Computes the causal attention softmax(q k^T / sqrt(D)) v in each row of T tokens, from the
/// rotated `qkv`. Query head h uses the key/value head floor(h K / H). On a GPU, D must be a
/// multiple of 8; bfloat16 is faster than float32.
[[nodiscard]] Attended attend(at::Tensor const& qkv, HeadSizes sizes, std::int64_t sequence);

/// Returns the derivatives of q, k and v, where `dy` (N, H D) is the derivative of `out.y`.
[[nodiscard]] HeadGradients attend_backward(at::Tensor const& dy, at::Tensor const& qkv,
                                            Attended const& out, HeadSizes sizes,
                                            std::int64_t sequence);

}  // namespace curtail::model
