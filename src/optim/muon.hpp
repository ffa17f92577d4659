// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace curtail::optim {

/// U V^T of each U S V^T, approximately: five Polar Express steps (arXiv:2505.16932), products in
/// `products` (float32 or bfloat16). x (K, m, n) -> (K, m, n) in `products`. Zero stays zero.
[[nodiscard]] at::Tensor polar_express(at::Tensor const& x, at::ScalarType products);

/// What a schedule says about one step of Muon.
struct MuonRates {
    double rate{};  ///< before the factor sqrt(max(1, m / n))
    double momentum{};
    double decay{};
};

/// Muon with Nesterov momentum, NorMuon's variance reduction (arXiv:2510.05491) and cautious weight
/// decay, for K matrices of one shape, which are orthogonalised together.
class Muon {
  public:
    Muon(std::int64_t count, std::int64_t rows, std::int64_t columns, at::ScalarType products);
    /// K weights, changed in place, and their gradients, each (m, n).
    void step(std::span<at::Tensor const> weights, std::span<at::Tensor const> gradients,
              MuonRates rates);

    [[nodiscard]] at::Tensor const& momentum() const { return momentum_; }  ///< (K, m, n)
    /// Running mean of squares over the longer side: (K, m, 1) where m >= n, else (K, 1, n);
    /// float32 that holds numbers of `products`.
    [[nodiscard]] at::Tensor const& second_momentum() const { return second_; }

  private:
    [[nodiscard]] at::Tensor reduce_variance(at::Tensor const& x);

    at::ScalarType products_;
    at::Tensor momentum_, second_, update_;
};

}  // namespace curtail::optim
