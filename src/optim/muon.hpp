// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace curtail::optim {

/// Orthogonalizes each matrix, approximately: U S V^T becomes U V^T in five Polar Express steps
/// (arXiv:2505.16932). Matrix products use the type `products` (float32 or bfloat16).
/// x (K, m, n) -> (K, m, n) in `products`. Zero stays zero.
[[nodiscard]] at::Tensor polar_express(at::Tensor const& x, at::ScalarType products);

/// The scheduled values for one step of Muon.
struct MuonRates {
    double rate{};  ///< before the factor sqrt(max(1, m / n))
    double momentum{};
    double decay{};
};

/// Muon with Nesterov momentum, NorMuon's variance reduction (arXiv:2510.05491) and cautious weight
/// decay, for K matrices of one shape. Orthogonalizes them together.
class Muon {
  public:
    Muon(std::int64_t count, std::int64_t rows, std::int64_t columns, at::ScalarType products);
    /// K weights, changed in place, and their gradients, each (m, n).
    void step(std::span<at::Tensor const> weights, std::span<at::Tensor const> gradients,
              MuonRates rates);

    [[nodiscard]] at::Tensor const& momentum() const { return momentum_; }  ///< (K, m, n)
    /// Running mean of squares over the longer side: (K, m, 1) if m >= n, otherwise (K, 1, n).
    /// Stored as float32, rounded to `products`.
    [[nodiscard]] at::Tensor const& second_momentum() const { return second_; }

  private:
    void update_momentum(std::span<at::Tensor const> gradients, double beta);
    [[nodiscard]] at::Tensor reduce_variance(at::Tensor const& x);

    at::ScalarType products_;
    at::Tensor momentum_, second_, update_;
};

}  // namespace curtail::optim
