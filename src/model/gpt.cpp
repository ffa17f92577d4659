#include "model/gpt.hpp"

#include <ATen/ops/addcmul.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>

#include <stdexcept>

namespace curtail::model {

/// What the forward pass of one block leaves for its derivative. N = B T tokens, C width, J = H + K heads of q and k together.
struct Gpt::Block {
    at::Tensor x_in;  ///< (N, C): before a x + b x0
    Normed normed;    ///< (N, C): input of attention
    Normed qk;        ///< (B, T, J, D): rotated and normalised
    Attention attention;
    Normed mlp_in;     ///< (N, C)
    at::Tensor relu;   ///< (N, 4C)
    at::Tensor relu2;  ///< (N, 4C): its square
};

struct Gpt::Tape {
    Normed x0;
    std::vector<Block> blocks;
    Normed last;
};

namespace {

/// a += dy^T x for y = x W^T.
void add_weight_gradient(at::Tensor const& gradient, at::Tensor const& dy, at::Tensor const& x) { gradient.addmm_(dy.t(), x); }

void check(bool good, char const* rule)
{
    if (!good) throw std::invalid_argument(rule);
}

void check_input(config::Model const& shape, at::Tensor const& input)
{
    check(input.dim() == 2 && input.scalar_type() == at::kLong && input.is_contiguous(), "input must be a contiguous (B, T) of int64");
    check(input.size(1) <= shape.sequence, "input has more positions than the model");
}

void check_target(at::Tensor const& input, at::Tensor const& target)
{
    check(target.sizes() == input.sizes() && target.scalar_type() == at::kLong && target.is_contiguous(),
          "target must have the form of input");
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
      rotary_(weights_.shape().sequence, weights_.shape().head_size(), weights_.flat().scalar_type())
{
}

void Gpt::zero_gradients() { gradients_.flat().zero_(); }

void Gpt::block_forward(std::int64_t layer, at::Tensor& x, at::Tensor const& x0, at::IntArrayRef batch, Block* kept) const
{
    auto const& m = shape();
    auto const& w = weights_.block(layer);
    std::int64_t const joint = m.heads + m.kv_heads;
    Block b;
    b.x_in = x;
    x = at::mul(x, weights_.resid_lambdas()[layer]).addcmul_(x0, weights_.x0_lambdas()[layer]);
    b.normed = rms_norm(x);
    auto const qkv = at::mm(b.normed.y, w.qkv.t()).view({batch[0], batch[1], joint + m.kv_heads, m.head_size()});
    b.qk = rms_norm(rotary_.rotate(qkv.narrow(2, 0, joint)));
    b.attention = attend(b.qk.y.narrow(2, 0, m.heads), b.qk.y.narrow(2, m.heads, m.kv_heads), qkv.narrow(2, joint, m.kv_heads));
    x.add_(at::mm(b.attention.y.transpose(1, 2).reshape({-1, m.width}), w.attn_out.t()));
    b.mlp_in = rms_norm(x);
    b.relu = at::mm(b.mlp_in.y, w.fc.t()).relu_();
    b.relu2 = at::mul(b.relu, b.relu);
    x.add_(at::mm(b.relu2, w.mlp_out.t()));
    if (kept != nullptr) *kept = std::move(b);
}

at::Tensor Gpt::forward(at::Tensor const& input, Tape* tape) const
{
    auto const x0 = rms_norm(at::embedding(weights_.embedding(), input.view({-1})));  // (N, C)
    at::Tensor x = x0.y;
    if (tape != nullptr) tape->blocks.resize(static_cast<std::size_t>(shape().layers));
    for (std::int64_t layer = 0; layer < shape().layers; ++layer)
        block_forward(layer, x, x0.y, input.sizes(), tape != nullptr ? &tape->blocks[static_cast<std::size_t>(layer)] : nullptr);
    auto last = rms_norm(x);
    if (tape == nullptr) return last.y;
    tape->x0 = x0;
    tape->last = std::move(last);
    return tape->last.y;
}

at::Tensor Gpt::attention_backward(std::int64_t layer, at::Tensor const& du, Block const& b)
{
    auto const& m = shape();
    auto const& w = weights_.block(layer);
    auto const& g = gradients_.block(layer);
    auto const batch = b.qk.y.sizes();
    std::int64_t const joint = m.heads + m.kv_heads;
    auto const& y = b.attention.y;
    add_weight_gradient(g.attn_out, du, y.transpose(1, 2).reshape({-1, m.width}));
    auto const dy = at::mm(du, w.attn_out).view({batch[0], batch[1], m.heads, m.head_size()}).transpose(1, 2);
    auto const dqk = at::empty(batch, du.options());  // (B, T, J, D)
    auto const dqkv = at::empty({batch[0], batch[1], joint + m.kv_heads, m.head_size()}, du.options());
    attend_backward(dy, b.attention, dqk.narrow(2, 0, m.heads), dqk.narrow(2, m.heads, m.kv_heads), dqkv.narrow(2, joint, m.kv_heads));
    rotary_.rotate_back(rms_norm_backward(dqk, b.qk), dqkv.narrow(2, 0, joint));
    auto const rows = dqkv.view({du.size(0), -1});
    add_weight_gradient(g.qkv, rows, b.normed.y);
    return rms_norm_backward(at::mm(rows, w.qkv), b.normed);
}

at::Tensor Gpt::block_backward(std::int64_t layer, at::Tensor const& dx, at::Tensor const& dx0, Tape const& tape)
{
    auto const& b = tape.blocks[static_cast<std::size_t>(layer)];
    auto const& w = weights_.block(layer);
    auto const& g = gradients_.block(layer);
    add_weight_gradient(g.mlp_out, dx, b.relu2);
    // relu(z)^2 has the derivative 2 relu(z).
    auto dfc = at::empty_like(b.relu);
    at::addmm_out(dfc, dfc, dx, w.mlp_out, 0, 2);
    dfc.mul_(b.relu);
    add_weight_gradient(g.fc, dfc, b.mlp_in.y);
    auto ds = rms_norm_backward(at::mm(dfc, w.fc), b.mlp_in).add_(dx);
    ds.add_(attention_backward(layer, ds, b));
    gradients_.resid_lambdas()[layer].add_(ds.view({-1}).dot(b.x_in.view({-1})));
    gradients_.x0_lambdas()[layer].add_(ds.view({-1}).dot(tape.x0.y.view({-1})));
    dx0.addcmul_(ds, weights_.x0_lambdas()[layer]);
    return ds.mul_(weights_.resid_lambdas()[layer]);
}

LossSum Gpt::accumulate_gradients(at::Tensor const& input, at::Tensor const& target, double scale)
{
    check_input(shape(), input);
    check_target(input, target);
    c10::InferenceMode const no_autograd;
    Tape tape;
    auto const x = forward(input, &tape);
    auto const head = head_losses_with_gradients(x, weights_.head(), target.view({-1}), shape().vocabulary, scale, gradients_.head());
    auto dx = rms_norm_backward(head.dx, tape.last);
    auto const dx0 = at::zeros_like(dx);
    for (std::int64_t layer = shape().layers - 1; layer >= 0; --layer) dx = block_backward(layer, dx, dx0, tape);
    auto const dembedding = rms_norm_backward(dx.add_(dx0), tape.x0);
    gradients_.embedding().add_(at::embedding_dense_backward(dembedding, input.view({-1}), shape().padded_vocabulary(), -1, false));
    return sum_of(head.losses, target);
}

at::Tensor Gpt::logits(at::Tensor const& input) const
{
    check_input(shape(), input);
    c10::InferenceMode const no_autograd;
    return softcapped_logits(forward(input, nullptr), weights_.head(), shape().vocabulary).view({input.size(0), input.size(1), -1});
}

at::Tensor Gpt::last_logits(at::Tensor const& input) const
{
    check_input(shape(), input);
    c10::InferenceMode const no_autograd;
    auto const x = forward(input, nullptr).view({input.size(0), input.size(1), -1}).select(1, -1).contiguous();
    return softcapped_logits(x, weights_.head(), shape().vocabulary);
}

at::Tensor Gpt::token_losses(at::Tensor const& input, at::Tensor const& target) const
{
    check_input(shape(), input);
    check_target(input, target);
    c10::InferenceMode const no_autograd;
    return head_losses(forward(input, nullptr), weights_.head(), target.view({-1}), shape().vocabulary).view(input.sizes());
}

LossSum Gpt::loss(at::Tensor const& input, at::Tensor const& target) const { return sum_of(token_losses(input, target), target); }

}  // namespace curtail::model
