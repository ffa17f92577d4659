// SPDX-License-Identifier: Apache-2.0
#pragma once

// One layer of the GPT (docs/model.md), forward and backward. N is the number of tokens and C the
// width. H, K and D are those of kernels.hpp.

#include <ATen/core/Tensor.h>

#include "trainer/model/attention.hpp"
#include "trainer/model/kernels/kernels.hpp"
#include "trainer/model/parameters.hpp"

namespace curtail::model {

/// The parameters of one layer, or their gradients.
struct LayerParameters {
    BlockMatrices matrices;
    at::Tensor a, b;  ///< scalars: the layer's resid_lambda and x0_lambda
};
/// Returns the parameters of layer `layer`. They share the memory of `all`.
[[nodiscard]] LayerParameters layer_parameters(Parameters const& all, std::int64_t layer);

/// What the backward pass of a layer reads. The functions below create the tensors. Given the
/// tensors of an earlier batch of the same shape, they use their memory again.
struct LayerActivations {
    at::Tensor input;                     ///< (N, C): x
    NormalizationResult attention_input;  ///< of the residual mix: (N, C)
    at::Tensor qkv;                       ///< after the rotation: (N, (H + 2 K) D)
    at::Tensor head_factors;              ///< r of the rotated heads: (N, H + K)
    AttentionResult attended;
    NormalizationResult mlp_input;  ///< (N, C)
    at::Tensor squares;             ///< of the MLP's hidden values after the ReLU: (N, 4C)
};

/// Memory for intermediate results, which all layers use one after the other.
struct LayerScratch {
    at::Tensor hidden;  ///< (N, 4C): the derivative of the MLP's hidden values
    at::Tensor qkv;     ///< (N, (H + 2 K) D)
    at::Tensor x;       ///< (N, C)
};

/// What all layers share in the forward and backward pass of one batch.
struct LayerContext {
    Kernels const& kernels;
    GpuAttention attention{};
    RotaryTables const& tables;
    HeadSizes heads;
    std::int64_t sequence{};  ///< T, the tokens in a row of this batch
    at::Tensor x0;            ///< the normalized embedding: (N, C)
    LayerScratch& scratch;
};

/// Computes what the backward pass of a layer needs from `activations.input`. Leaves the residual
/// stream (N, C) before the addition of the MLP's result in `output`.
void layer_activations(LayerContext const& context, LayerParameters const& weights,
                       LayerActivations& activations, at::Tensor& output);

/// Computes the output (N, C) of a layer for `activations.input`, and keeps what the backward pass
/// needs.
void layer_forward(LayerContext const& context, LayerParameters const& weights,
                   LayerActivations& activations, at::Tensor& output);

/// The derivatives of the residual stream, which all layers pass on.
struct ResidualGradients {
    at::Tensor x;   ///< (N, C): on entry that of the layer's output, on return that of its input
    at::Tensor x0;  ///< (N, C): every layer adds its share
};

/// Adds the derivatives of the layer's parameters to `gradients`, and updates `residual`.
/// Overwrites parts of `activations`: each forward pass allows one backward pass.
void layer_backward(LayerContext const& context, LayerParameters const& weights,
                    LayerParameters const& gradients, LayerActivations& activations,
                    ResidualGradients const& residual);

}  // namespace curtail::model
