#include "model/layers.hpp"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>

#include <limits>

namespace curtail::model {
namespace {

double machine_epsilon(at::ScalarType type)
{
    return type == at::kDouble ? std::numeric_limits<double>::epsilon() : static_cast<double>(std::numeric_limits<float>::epsilon());
}

}  // namespace

Normed rms_norm(at::Tensor const& x)
{
    auto const factor = at::mul(x, x).mean({-1}, true).add_(machine_epsilon(x.scalar_type())).rsqrt_();
    return {x, at::mul(x, factor), factor};
}

at::Tensor rms_norm_backward(at::Tensor const& dy, Normed const& normed, at::Tensor const& other)
{
    auto const c = static_cast<double>(dy.size(-1));
    // d factor = -1/2 factor^3 d mean(x^2), d mean(x^2) = 2 x dx / c; the factors 1/2 and 2 cancel exactly.
    auto const along = at::mul(dy, normed.x).sum({-1}, true).neg_().mul_(at::pow(normed.factor, 3)).div_(c);
    auto dx = at::mul(dy, normed.factor);
    if (other.defined()) dx.add_(other);
    return dx.add_(at::mul(normed.x, along));
}

Rotary::Rotary(std::int64_t sequence, std::int64_t head_size, at::ScalarType type)
{
    auto const real = at::TensorOptions(at::kFloat);
    auto const inverse = at::pow(10000, at::arange(0, head_size, 2, real).div_(head_size)).reciprocal_();
    auto const angle = at::mul(at::arange(sequence, real).unsqueeze(1), inverse);  // (sequence, D / 2)
    cos_ = angle.cos().to(at::kBFloat16).to(type).unsqueeze(1);
    sin_ = angle.sin().to(at::kBFloat16).to(type).unsqueeze(1);
}

at::Tensor Rotary::rotate(at::Tensor const& x) const
{
    std::int64_t const half = x.size(3) / 2;
    auto const cos = cos_.narrow(0, 0, x.size(1));
    auto const sin = sin_.narrow(0, 0, x.size(1));
    auto const x1 = x.narrow(3, 0, half);
    auto const x2 = x.narrow(3, half, half);
    auto y = at::empty(x.sizes(), x.options());
    auto y1 = y.narrow(3, 0, half);
    auto y2 = y.narrow(3, half, half);
    at::mul_out(y1, x1, cos);
    y1.add_(at::mul(x2, sin));
    at::mul_out(y2, x2, cos);
    y2.sub_(at::mul(x1, sin));
    return y;
}

void Rotary::rotate_back(at::Tensor const& dy, at::Tensor const& dx) const
{
    std::int64_t const half = dy.size(3) / 2;
    auto const cos = cos_.narrow(0, 0, dy.size(1));
    auto const sin = sin_.narrow(0, 0, dy.size(1));
    auto const dy1 = dy.narrow(3, 0, half);
    auto const dy2 = dy.narrow(3, half, half);
    auto dx1 = dx.narrow(3, 0, half);
    auto dx2 = dx.narrow(3, half, half);
    at::mul_out(dx1, dy1, cos);
    dx1.sub_(at::mul(dy2, sin));
    at::mul_out(dx2, dy2, cos);
    dx2.add_(at::mul(dy1, sin));
}

Attention attend(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v)
{
    Attention a{q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), {}, {}};
    std::tie(a.y, a.logsumexp) = at::_scaled_dot_product_flash_attention_for_cpu(a.q, a.k, a.v, 0.0, true);
    return a;
}

void attend_backward(at::Tensor const& dy, Attention const& a, at::Tensor const& dq, at::Tensor const& dk, at::Tensor const& dv)
{
    auto const [gq, gk, gv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(dy, a.q, a.k, a.v, a.y, a.logsumexp, 0.0, true);
    dq.copy_(gq.transpose(1, 2));
    dk.copy_(gk.transpose(1, 2));
    dv.copy_(gv.transpose(1, 2));
}

}  // namespace curtail::model
