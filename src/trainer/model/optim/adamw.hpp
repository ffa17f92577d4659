// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include "trainer/model/optim/step_mask.hpp"

namespace curtail::optim {

/// The constants of AdamW. The defaults are those of nanochat (docs/model.md).
struct AdamWSettings {
    double beta1{0.8};
    double beta2{0.95};
    double eps{1e-10};
};

/// AdamW (arXiv:1711.05101, without weight decay) for one tensor of weights w with gradient g. Step
/// number t computes, with the learning rate `rate` and lerp(a, b, c) = a + c (b - a):
///
///     m = lerp(m, g, 1 - beta1)
///     v = lerp(v, g^2, 1 - beta2)
///     w = w - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)
class AdamW {
  public:
    /// Sets m and v to zero, in the shape of `weight`.
    explicit AdamW(at::Tensor const& weight, AdamWSettings settings = {});
    /// Makes one step and changes `weight` in place. `count` is t, which is 1 in the first step: a
    /// float32 scalar on the device of the weight. See StepMask for `mask`. Returns the sum of the
    /// squares of the changes of `weight`, a double scalar on the device.
    at::Tensor step(at::Tensor const& weight, at::Tensor const& gradient, double rate,
                    at::Tensor const& count, StepMask const& mask = {});

    [[nodiscard]] at::Tensor const& exp_avg() const { return exp_avg_; }        ///< m
    [[nodiscard]] at::Tensor const& exp_avg_sq() const { return exp_avg_sq_; }  ///< v

  private:
    AdamWSettings settings_;
    at::Tensor exp_avg_, exp_avg_sq_;
};

}  // namespace curtail::optim
