// SPDX-License-Identifier: Apache-2.0
#include "optim/adamw.hpp"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>

namespace curtail::optim {

AdamW::AdamW(at::Tensor const& weight, AdamWSettings settings)
    : settings_(settings), exp_avg_(at::zeros_like(weight)), exp_avg_sq_(at::zeros_like(weight))
{
}

void AdamW::step(at::Tensor const& weight, at::Tensor const& gradient, double rate,
                 at::Tensor const& count, StepMask const& mask)
{
    c10::InferenceMode const no_autograd;
    auto const found_inf = mask.skip.defined() ? std::optional(mask.skip) : std::nullopt;
    at::_fused_adamw_({weight}, {gradient}, {exp_avg_}, {exp_avg_sq_}, {}, {count}, rate,
                      settings_.beta1, settings_.beta2, 0.0, settings_.eps, false, false, {},
                      found_inf);
}

}  // namespace curtail::optim
