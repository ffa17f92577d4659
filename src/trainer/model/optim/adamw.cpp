// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/optim/adamw.hpp"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <optional>

#include "trainer/model/optim/sum_of_squares.hpp"

namespace curtail::optim {
namespace {

// Elements that a step updates at once. On a CPU, they stay in the caches.
constexpr std::int64_t slice_elements_on_cpu = std::int64_t{1} << 16;
constexpr std::int64_t slice_elements_on_gpu = std::int64_t{1} << 26;

}  // namespace

AdamW::AdamW(at::Tensor const& weight, AdamWSettings settings)
    : settings_(settings), exp_avg_(at::zeros_like(weight)), exp_avg_sq_(at::zeros_like(weight))
{
}

at::Tensor AdamW::step(at::Tensor const& weight, at::Tensor const& gradient, double rate,
                       at::Tensor const& count, StepMask const& mask)
{
    c10::InferenceMode const no_autograd;
    auto const found_inf = mask.skip.defined() ? std::optional(mask.skip) : std::nullopt;
    auto squares = at::zeros({}, count.options().dtype(at::kDouble));
    auto const elements = weight.numel();
    auto const most = weight.is_cpu() ? slice_elements_on_cpu : slice_elements_on_gpu;
    for (std::int64_t first = 0; first < elements; first += most) {
        auto const slice = [&](at::Tensor const& all) {
            return all.view({-1}).narrow(0, first, std::min(most, elements - first));
        };
        auto const w = slice(weight);
        auto const before = w.clone();
        at::_fused_adamw_({w}, {slice(gradient)}, {slice(exp_avg_)}, {slice(exp_avg_sq_)}, {},
                          {count}, rate, settings_.beta1, settings_.beta2, 0.0, settings_.eps,
                          false, false, {}, found_inf);
        squares.add_(sum_of_squares(before.sub_(w)));
    }
    return squares;
}

}  // namespace curtail::optim
