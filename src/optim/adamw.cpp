// SPDX-License-Identifier: Apache-2.0
#include "optim/adamw.hpp"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>

namespace curtail::optim {

AdamW::AdamW(at::Tensor const& weight, AdamWSettings settings)
    : settings_(settings), exp_avg_(at::zeros_like(weight)), exp_avg_sq_(at::zeros_like(weight))
{
}

void AdamW::step(at::Tensor const& weight, at::Tensor const& gradient, double rate,
                 std::int64_t count)
{
    c10::InferenceMode const no_autograd;
    auto const at_step = at::scalar_tensor(count, at::TensorOptions(at::kFloat));
    at::_fused_adamw_({weight}, {gradient}, {exp_avg_}, {exp_avg_sq_}, {}, {at_step}, rate,
                      settings_.beta1, settings_.beta2, 0.0, settings_.eps, false, false);
}

}  // namespace curtail::optim
