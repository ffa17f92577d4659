// SPDX-License-Identifier: Apache-2.0
#include "model/layers.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>

namespace curtail::model {

at::Tensor rms_norm(at::Tensor const& x) { return at::rms_norm(x, x.size(-1)); }

Rotary::Rotary(std::int64_t sequence, std::int64_t head_size, at::ScalarType type)
{
    auto const real = at::TensorOptions(at::kFloat);
    auto const inverse =
        at::pow(10000, at::arange(0, head_size, 2, real).div_(head_size)).reciprocal_();
    auto const angle =
        at::mul(at::arange(sequence, real).unsqueeze(1), inverse);  // (sequence, D / 2)
    cos_ = angle.cos().to(at::kBFloat16).to(type).unsqueeze(1);
    sin_ = angle.sin().to(at::kBFloat16).to(type).unsqueeze(1);
}

at::Tensor Rotary::rotate(at::Tensor const& x) const
{
    auto const cos = cos_.narrow(0, 0, x.size(1));
    auto const sin = sin_.narrow(0, 0, x.size(1));
    auto const halves = x.chunk(2, 3);
    return at::cat({at::mul(halves[0], cos).add_(at::mul(halves[1], sin)),
                    at::mul(halves[1], cos).sub_(at::mul(halves[0], sin))},
                   3);
}

at::Tensor attend(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v)
{
    auto const y =
        at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                         {}, 0.0, true, std::nullopt, q.size(2) != k.size(2));
    return y.transpose(1, 2);
}

}  // namespace curtail::model
