// SPDX-License-Identifier: Apache-2.0
#pragma once

// The part of the GPT after the last normalization, up to the loss (docs/model.md). In the
// comments, N is the number of tokens, C the width and V the size of the vocabulary. x (N, C) is
// the normalized output of the last layer. W is the parameter `head`, whose rows after the first V
// are padding. All functions process the tokens in slices to limit the memory for logits. If x and
// W are bfloat16, their products are too; whatever follows is computed in float32.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "trainer/model/kernels/kernels.hpp"

namespace curtail::model {

/// Returns the logits 15 tanh(x W^T / 15), without the logits of the padding: (N, V), of
/// type_of_sums().
[[nodiscard]] at::Tensor softcapped_logits(at::Tensor const& x, at::Tensor const& head,
                                           std::int64_t vocabulary);

/// The targets of the tokens whose logits the head computes.
struct HeadTargets {
    at::Tensor const& ids;      ///< (N) int64; -1: the token is ignored
    std::int64_t vocabulary{};  ///< V
};

/// Returns the cross entropy of each token in nats: (N), of type_of_sums(). The loss of an ignored
/// token is 0.
[[nodiscard]] at::Tensor head_losses(Kernels const& kernels, at::Tensor const& x,
                                     at::Tensor const& head, HeadTargets const& targets);

/// Returns the greatest number of tokens whose logits head_loss() keeps at once, to multiply their
/// derivatives with the inputs in one product. `vocabulary` includes the padding.
[[nodiscard]] std::int64_t logits_tokens(std::int64_t vocabulary, bool on_gpu);

/// The losses of a batch and the derivative of scale * (sum of the losses) with respect to x.
struct HeadLoss {
    at::Tensor losses;  ///< (N): as returned by head_losses()
    at::Tensor dx;      ///< (N, C)
};
/// Memory that head_loss() uses again from call to call.
struct HeadScratch {
    at::Tensor logits;
    at::Tensor dx;
};
/// Returns the losses and their derivative, and adds that of W to `dhead`. Computes derivatives
/// together with the losses, so that no logits have to be kept
/// (docs/adr/0005-head-has-its-own-derivative.md). `scratch.dx` is the returned dx.
[[nodiscard]] HeadLoss head_loss(Kernels const& kernels, at::Tensor const& x,
                                 at::Tensor const& head, HeadTargets const& targets, double scale,
                                 at::Tensor const& dhead, HeadScratch& scratch);

}  // namespace curtail::model
