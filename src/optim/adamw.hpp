// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace curtail::optim {

/// The reference's constants of AdamW; no weight decay.
struct AdamWSettings {
    double beta1{0.8};
    double beta2{0.95};
    double eps{1e-10};
};

/// AdamW (arXiv:1711.05101, without decay) for one tensor: m = lerp(m, g, 1 - beta1), v = lerp(v,
/// g^2, 1 - beta2), w -= rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps) at the t-th
/// step.
class AdamW {
  public:
    /// Starts with zero moments of the shape of `weight`.
    explicit AdamW(at::Tensor const& weight, AdamWSettings settings = {});
    /// `count` is t, 1 at the first step. Changes `weight` in place.
    void step(at::Tensor const& weight, at::Tensor const& gradient, double rate,
              std::int64_t count);

    [[nodiscard]] at::Tensor const& exp_avg() const { return exp_avg_; }        ///< m
    [[nodiscard]] at::Tensor const& exp_avg_sq() const { return exp_avg_sq_; }  ///< v

  private:
    AdamWSettings settings_;
    at::Tensor exp_avg_, exp_avg_sq_;
};

}  // namespace curtail::optim
