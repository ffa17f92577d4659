// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include "trainer/model/kernels/kernels.hpp"

namespace curtail::model {

/// ATen's operators for the attention on a GPU.
enum class GpuAttention {
    flash,     ///< FlashAttention 2, for every GPU since compute capability 8.0; only for bfloat16
    cudnn,     ///< cuDNN's, faster on compute capability 9.x and 10.x; only for bfloat16
    efficient  ///< the memory-efficient one; float32 tensors use no other
};

/// The result of a causal attention and what its derivative needs.
struct AttentionResult {
    at::Tensor y;        ///< (N, H D)
    at::Tensor log_sum;  ///< logarithms of the softmax's sums, in the layout of ATen's operator
    /// State of the random numbers for dropout. The GPU's operators require it, although there is
    /// no dropout here. Undefined on the CPU.
    at::Tensor random_seed{}, random_offset{};
};

/// Computes the causal attention softmax(q k^T / sqrt(D)) v in each row of T tokens, from the
/// rotated `qkv`. Query head h uses the key/value head floor(h K / H). On a GPU, D must be a
/// multiple of 8; bfloat16 is faster than float32.
[[nodiscard]] AttentionResult attend(at::Tensor const& qkv, HeadSizes sizes, std::int64_t sequence,
                                     GpuAttention on_gpu);

/// Returns the derivatives of q, k and v, where `dy` (N, H D) is the derivative of `out.y`.
/// `on_gpu` must be that of attend().
[[nodiscard]] HeadGradients attend_backward(at::Tensor const& dy, at::Tensor const& qkv,
                                            AttentionResult const& out, HeadSizes sizes,
                                            std::int64_t sequence, GpuAttention on_gpu);

}  // namespace curtail::model
