// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

/// The GPT from the last normalization to the loss (docs/model.md). Operators and their order are
/// the reference's. Letters: N tokens (B T), C width, V vocabulary.
namespace curtail::model {

/// Logits 15 tanh(x W^T / 15), without the padding rows of W. x (N, C), W (padded V, C) -> (N, V).
[[nodiscard]] at::Tensor softcapped_logits(at::Tensor const& x, at::Tensor const& head,
                                           std::int64_t vocabulary);

/// Cross entropy of the softcapped logits per token, in nats; 0 where target is -1. target (N)
/// int64 -> (N). Not differentiable. Processes the tokens in slices to bound the memory for logits.
[[nodiscard]] at::Tensor head_losses(at::Tensor const& x, at::Tensor const& head,
                                     at::Tensor const& target, std::int64_t vocabulary);

struct HeadLoss {
    at::Tensor total;   ///< (): scale * sum of losses; differentiable once in x and W
    at::Tensor losses;  ///< (N) as head_losses
};
/// The same for training. Computes derivatives slice by slice along with the losses and stores them
/// for the backward pass (docs/adr/0005-head-has-its-own-derivative.md).
[[nodiscard]] HeadLoss head_loss(at::Tensor const& x, at::Tensor const& head,
                                 at::Tensor const& target, std::int64_t vocabulary, double scale);

}  // namespace curtail::model
