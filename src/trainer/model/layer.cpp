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
                       LayerActivations& kept, at::Tensor& output)
{
    auto const& kernels = context.kernels;
    auto const& w = weights.matrices;
    kernels.mix({kept.input, context.x0, weights.a, weights.b}, output, kept.attention_input);
    multiply(kept.attention_input.y, w.qkv, kept.qkv);
    kernels.rotate(kept.qkv, context.heads, context.tables, context.sequence, kept.head_factors);
    kept.attended = attend(kept.qkv, context.heads, context.sequence, context.attention);
    add_product(kept.attended.y, w.attn_out, output);
    kernels.normalize(output, kept.mlp_input);
    multiply(kept.mlp_input.y, w.fc, kept.squares);
    kernels.square_relu(kept.squares);
}

void layer_forward(LayerContext const& context, LayerParameters const& weights,
                   LayerActivations& kept, at::Tensor& output)
{
    layer_activations(context, weights, kept, output);
    add_product(kept.squares, weights.matrices.mlp_out, output);
}

namespace {

void mlp_backward(LayerContext const& context, BlockMatrices const& w,
                  BlockMatrices const& gradients, LayerActivations& kept, at::Tensor const& dx)
{
    auto& scratch = context.scratch;
    multiply_backward(dx, w.mlp_out, scratch.hidden);
    context.kernels.square_relu_backward(kept.squares, scratch.hidden);
    add_weight_gradient(dx, kept.squares, gradients.mlp_out);
    add_weight_gradient(scratch.hidden, kept.mlp_input.y, gradients.fc);
    multiply_backward(scratch.hidden, w.fc, scratch.x);
    context.kernels.normalize_backward(scratch.x, kept.mlp_input, dx);
}

// Leaves the derivative of the attention's input in scratch.x.
void attention_backward(LayerContext const& context, BlockMatrices const& w,
                        BlockMatrices const& gradients, LayerActivations& kept,
                        at::Tensor const& dx)
{
    auto& scratch = context.scratch;
    add_weight_gradient(dx, kept.attended.y, gradients.attn_out);
    multiply_backward(dx, w.attn_out, scratch.x);
    auto const heads = attend_backward(scratch.x, kept.qkv, kept.attended, context.heads,
                                       context.sequence, context.attention);
    context.kernels.rotate_backward(heads, kept.qkv, kept.head_factors, context.heads,
                                    context.tables, context.sequence, scratch.qkv);
    add_weight_gradient(scratch.qkv, kept.attention_input.y, gradients.qkv);
    multiply_backward(scratch.qkv, w.qkv, scratch.x);
}

}  // namespace

void layer_backward(LayerContext const& context, LayerParameters const& weights,
                    LayerParameters const& gradients, LayerActivations& kept,
                    ResidualGradients const& residual)
{
    mlp_backward(context, weights.matrices, gradients.matrices, kept, residual.x);
    attention_backward(context, weights.matrices, gradients.matrices, kept, residual.x);
    context.kernels.mix_backward(context.scratch.x, kept.attention_input,
                                 {kept.input, context.x0, weights.a, weights.b},
                                 {residual.x, residual.x0, gradients.a, gradients.b});
}

}  // namespace curtail::model
