#include "model/gpt.hpp"

#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>

#include <stdexcept>

namespace curtail::model {

/// What the forward pass of one block leaves for its derivative. N = B T tokens, C width, J = H + K heads of q and k together.
struct Gpt::Block {
    at::Tensor x_in;  ///< (N, C): before a x + b x0
    Normed attn_in;   ///< (N, C)
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

/// gradient += dy^T x for y = x W^T.
void add_weight_gradient(at::Tensor const& gradient, at::Tensor const& dy, at::Tensor const& x) { gradient.add_(at::mm(dy.t(), x)); }

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

at::Tensor Gpt::block_forward(std::int64_t layer, at::Tensor const& x, at::Tensor const& x0, at::IntArrayRef batch, Block* kept) const
{
    auto const& m = shape();
    auto const& w = weights_.block(layer);
    std::int64_t const joint = m.heads + m.kv_heads;
    Block b;
    b.x_in = x;
    b.attn_in = rms_norm(at::mul(x, weights_.resid_lambdas()[layer]).add_(at::mul(x0, weights_.x0_lambdas()[layer])));
    auto const qkv = at::mm(b.attn_in.y, w.qkv.t()).view({batch[0], batch[1], joint + m.kv_heads, m.head_size()});
    b.qk = rms_norm(rotary_.rotate(qkv.narrow(2, 0, joint)));
    b.attention = attend(b.qk.y.narrow(2, 0, m.heads), b.qk.y.narrow(2, m.heads, m.kv_heads), qkv.narrow(2, joint, m.kv_heads));
    auto const y = b.attention.y.transpose(1, 2).reshape({-1, m.width});
    b.mlp_in = rms_norm(at::mm(y, w.attn_out.t()).add_(b.attn_in.x));
    b.relu = at::mm(b.mlp_in.y, w.fc.t()).relu_();
    b.relu2 = at::mul(b.relu, b.relu);
    auto out = at::mm(b.relu2, w.mlp_out.t()).add_(b.mlp_in.x);
    if (kept != nullptr) *kept = std::move(b);
    return out;
}

at::Tensor Gpt::forward(at::Tensor const& input, Tape* tape) const
{
    auto const x0 = rms_norm(at::embedding(weights_.embedding(), input.view({-1})));  // (N, C)
    at::Tensor x = x0.y;
    if (tape != nullptr) tape->blocks.resize(static_cast<std::size_t>(shape().layers));
    for (std::int64_t layer = 0; layer < shape().layers; ++layer)
        x = block_forward(layer, x, x0.y, input.sizes(), tape != nullptr ? &tape->blocks[static_cast<std::size_t>(layer)] : nullptr);
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
    add_weight_gradient(g.attn_out, du, b.attention.y.transpose(1, 2).reshape({-1, m.width}));
    auto const dy = at::mm(du, w.attn_out).view({batch[0], batch[1], m.heads, m.head_size()}).transpose(1, 2);
    auto const dqk = at::empty(batch, du.options());                                                     // (B, T, J, D)
    auto const dqkv = at::empty({batch[0], batch[1], joint + m.kv_heads, m.head_size()}, du.options());  // (B, T, J + K, D)
    attend_backward(dy, b.attention, dqk.narrow(2, 0, m.heads), dqk.narrow(2, m.heads, m.kv_heads), dqkv.narrow(2, joint, m.kv_heads));
    rotary_.rotate_back(rms_norm_backward(dqk, b.qk), dqkv.narrow(2, 0, joint));
    // One product for q, k and v, or products over strided rows, would round otherwise than the reference's three.
    auto const rows = dqkv.view({du.size(0), -1});
    std::int64_t const kv = m.kv_heads * m.head_size();
    at::Tensor dh;
    for (auto const& [first, count] : {std::pair{m.width + kv, kv}, std::pair{m.width, kv}, std::pair{std::int64_t{0}, m.width}}) {
        auto const dy_part = rows.narrow(1, first, count).contiguous();
        add_weight_gradient(g.qkv.narrow(0, first, count), dy_part, b.attn_in.y);
        auto const part = at::mm(dy_part, w.qkv.narrow(0, first, count));
        dh = dh.defined() ? dh.add_(part) : part;
    }
    return rms_norm_backward(dh, b.attn_in, du);
}

at::Tensor Gpt::block_backward(std::int64_t layer, at::Tensor const& dx, at::Tensor const& dx0, Tape const& tape)
{
    auto const& b = tape.blocks[static_cast<std::size_t>(layer)];
    auto const& w = weights_.block(layer);
    auto const& g = gradients_.block(layer);
    add_weight_gradient(g.mlp_out, dx, b.relu2);
    // relu(z)^2 has the derivative 2 relu(z).
    auto const dfc = at::mm(dx, w.mlp_out).mul_(b.relu).mul_(2);
    add_weight_gradient(g.fc, dfc, b.mlp_in.y);
    auto const du = rms_norm_backward(at::mm(dfc, w.fc), b.mlp_in, dx);
    auto const ds = attention_backward(layer, du, b);
    gradients_.resid_lambdas()[layer].add_(at::mul(ds, b.x_in).sum());
    gradients_.x0_lambdas()[layer].add_(at::mul(ds, tape.x0.y).sum());
    dx0.add_(at::mul(ds, weights_.x0_lambdas()[layer]));
    return at::mul(ds, weights_.resid_lambdas()[layer]);
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
