// SPDX-License-Identifier: Apache-2.0
#include "model/gpt.hpp"

#include <ATen/ops/embedding.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <c10/core/InferenceMode.h>

#include <stdexcept>

#include "model/head.hpp"

namespace curtail::model {
namespace {

// y = x W^T, rows of W are outputs.
at::Tensor linear(at::Tensor const& x, at::Tensor const& w) { return at::mm(x, w.t()); }

at::Tensor mlp(BlockMatrices const& w, at::Tensor const& x)
{
    return linear(linear(x, w.fc).relu_().square(), w.mlp_out);
}

void check(bool good, char const* rule)
{
    if (!good) throw std::invalid_argument(rule);
}

void check_input(config::Model const& shape, at::Tensor const& input)
{
    check(input.dim() == 2 && input.scalar_type() == at::kLong && input.is_contiguous(),
          "input must be a contiguous (B, T) of int64");
    check(input.size(1) <= shape.sequence, "input has more positions than the model");
}

void check_target(at::Tensor const& input, at::Tensor const& target)
{
    check(target.sizes() == input.sizes() && target.scalar_type() == at::kLong &&
              target.is_contiguous(),
          "target must have the shape and type of input");
}

LossSum sum_of(at::Tensor const& losses, at::Tensor const& target)
{
    return {losses.sum(at::kDouble).item<double>(), target.ge(0).sum().item<std::int64_t>()};
}

}  // namespace

LossSum& LossSum::operator+=(LossSum other)
{
    sum += other.sum;
    count += other.count;
    return *this;
}

Gpt::Gpt(Parameters weights)
    : weights_(std::move(weights)),
      gradients_(weights_.shape(), weights_.flat().scalar_type()),
      rotary_(weights_.shape().sequence, weights_.shape().head_size(),
              weights_.flat().scalar_type())
{
}

void Gpt::zero_gradients() { gradients_.flat().zero_(); }

// Three separate products for q, k and v, as in the reference: one product would round differently.
at::Tensor Gpt::attention(BlockMatrices const& w, at::Tensor const& x, at::IntArrayRef batch) const
{
    auto const heads = [&](at::Tensor const& matrix) {
        return linear(x, matrix).view({batch[0], batch[1], -1, shape().head_size()});
    };
    auto const q = rms_norm(rotary_.rotate(heads(w.q)));
    auto const k = rms_norm(rotary_.rotate(heads(w.k)));
    return linear(attend(q, k, heads(w.v)).reshape(x.sizes()), w.attn_out);
}

at::Tensor Gpt::forward(Parameters const& weights, at::Tensor const& input) const
{
    auto const x0 = rms_norm(at::embedding(weights.embedding(), input.view({-1})));  // (N, C)
    at::Tensor x = x0;
    for (std::int64_t layer = 0; layer < shape().layers; ++layer) {
        auto const& w = weights.block(layer);
        x = at::mul(x, weights.resid_lambdas()[layer])
                .add_(at::mul(x0, weights.x0_lambdas()[layer]));
        x = attention(w, rms_norm(x), input.sizes()).add_(x);
        x = mlp(w, rms_norm(x)).add_(x);
    }
    return rms_norm(x);
}

LossSum Gpt::accumulate_gradients(at::Tensor const& input, at::Tensor const& target, double scale)
{
    check_input(shape(), input);
    check_target(input, target);
    c10::InferenceMode const with_autograd(false);  // in case the caller disabled it
    auto const leaves = weights_.leaves(gradients_);
    auto const loss = head_loss(forward(leaves, input), leaves.head(), target.view({-1}),
                                shape().vocabulary, scale);
    loss.total.backward();
    return sum_of(loss.losses, target);
}

at::Tensor Gpt::logits(at::Tensor const& input) const
{
    check_input(shape(), input);
    c10::InferenceMode const no_autograd;
    return softcapped_logits(forward(weights_, input), weights_.head(), shape().vocabulary)
        .view({input.size(0), input.size(1), -1});
}

at::Tensor Gpt::last_logits(at::Tensor const& input) const
{
    check_input(shape(), input);
    c10::InferenceMode const no_autograd;
    auto const x = forward(weights_, input)
                       .view({input.size(0), input.size(1), -1})
                       .select(1, -1)
                       .contiguous();
    return softcapped_logits(x, weights_.head(), shape().vocabulary);
}

at::Tensor Gpt::token_losses(at::Tensor const& input, at::Tensor const& target) const
{
    check_input(shape(), input);
    check_target(input, target);
    c10::InferenceMode const no_autograd;
    return head_losses(forward(weights_, input), weights_.head(), target.view({-1}),
                       shape().vocabulary)
        .view(input.sizes());
}

LossSum Gpt::loss(at::Tensor const& input, at::Tensor const& target) const
{
    return sum_of(token_losses(input, target), target);
}

}  // namespace curtail::model
