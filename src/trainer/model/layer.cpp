// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/layer.hpp"

#include "trainer/model/products.hpp"

namespace curtail::model {

LayerParameters layer_parameters(Parameters const& all, std::int64_t layer)
{
    return {all.block(layer), all.scalars()[0][layer], all.scalars()[1][layer]};
}

// `output` holds the residual stream: first the mix, then with the attention.
void layer_activations(LayerContext const& context, LayerParameters const& weights,
                       LayerActivations& activations, at::Tensor& output)
{
    auto const& kernels = context.kernels;
    auto const& w = weights.matrices;
    kernels.mix({activations.input, context.x0, weights.a, weights.b}, output,
                activations.attention_input);
    multiply(activations.attention_input.y, w.qkv, activations.qkv);
    kernels.rotate(activations.qkv, context.heads, context.tables, context.sequence,
                   activations.head_factors);
    activations.attended =
        attend(activations.qkv, context.heads, context.sequence, context.attention);
    add_product(activations.attended.y, w.attn_out, output);
    kernels.normalize(output, activations.mlp_input);
    multiply(activations.mlp_input.y, w.fc, activations.squares);
    kernels.square_relu(activations.squares);
}

void layer_forward(LayerContext const& context, LayerParameters const& weights,
                   LayerActivations& activations, at::Tensor& output)
{
    layer_activations(context, weights, activations, output);
    add_product(activations.squares, weights.matrices.mlp_out, output);
}

namespace {

void mlp_backward(LayerContext const& context, BlockMatrices const& w,
                  BlockMatrices const& gradients, LayerActivations& activations,
                  at::Tensor const& dx)
{
    auto& scratch = context.scratch;
    multiply_backward(dx, w.mlp_out, scratch.hidden);
    context.kernels.square_relu_backward(activations.squares, scratch.hidden);
    add_weight_gradient(dx, activations.squares, gradients.mlp_out);
    add_weight_gradient(scratch.hidden, activations.mlp_input.y, gradients.fc);
    multiply_backward(scratch.hidden, w.fc, scratch.x);
    context.kernels.normalize_backward(scratch.x, activations.mlp_input, dx);
}

// Leaves the derivative of the attention's input in scratch.x.
void attention_backward(LayerContext const& context, BlockMatrices const& w,
                        BlockMatrices const& gradients, LayerActivations& activations,
                        at::Tensor const& dx)
{
    auto& scratch = context.scratch;
    add_weight_gradient(dx, activations.attended.y, gradients.attn_out);
    multiply_backward(dx, w.attn_out, scratch.x);
    auto const heads = attend_backward(scratch.x, activations.qkv, activations.attended,
                                       context.heads, context.sequence, context.attention);
    context.kernels.rotate_backward(heads, activations.qkv, activations.head_factors, context.heads,
                                    context.tables, context.sequence, scratch.qkv);
    add_weight_gradient(scratch.qkv, activations.attention_input.y, gradients.qkv);
    multiply_backward(scratch.qkv, w.qkv, scratch.x);
}

}  // namespace

void layer_backward(LayerContext const& context, LayerParameters const& weights,
                    LayerParameters const& gradients, LayerActivations& activations,
                    ResidualGradients const& residual)
{
    mlp_backward(context, weights.matrices, gradients.matrices, activations, residual.x);
    attention_backward(context, weights.matrices, gradients.matrices, activations, residual.x);
    context.kernels.mix_backward(context.scratch.x, activations.attention_input,
                                 {activations.input, context.x0, weights.a, weights.b},
                                 {residual.x, residual.x0, gradients.a, gradients.b});
}

}  // namespace curtail::model
