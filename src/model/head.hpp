// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of the GPT after the last normalization, up to the loss (docs/model.md). The operators
// and their order are those of nanochat. In the comments, N is the number of tokens, C the width
// and V the size of the vocabulary. x (N, C) is the normalized output of the last layer. W is the
// parameter `head`, whose rows after the first V are padding.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace curtail::model {

/// Returns the logits 15 tanh(x W^T / 15), without the logits of the padding: (N, V).
[[nodiscard]] at::Tensor softcapped_logits(at::Tensor const& x, at::Tensor const& head,
                                           std::int64_t vocabulary);

/// Returns the cross entropy of each token in nats: (N). `target` (N) are int64 token ids; the loss
/// is 0 where the target is -1. The result is not differentiable. Processes the tokens in slices to
/// limit the memory for logits.
[[nodiscard]] at::Tensor head_losses(at::Tensor const& x, at::Tensor const& head,
                                     at::Tensor const& target, std::int64_t vocabulary);

/// The losses of a batch, for training.
struct HeadLoss {
    at::Tensor total;   ///< scalar: scale * sum of `losses`; differentiable once in x and W
    at::Tensor losses;  ///< (N): as returned by head_losses()
};
/// Returns the losses as head_losses() does, and their scaled sum for a backward pass. Computes the
/// derivatives together with the losses, slice by slice, and keeps them for the backward pass
/// (docs/adr/0005-head-has-its-own-derivative.md).
[[nodiscard]] HeadLoss head_loss(at::Tensor const& x, at::Tensor const& head,
                                 at::Tensor const& target, std::int64_t vocabulary, double scale);

}  // namespace curtail::model
