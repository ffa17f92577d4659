// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "trainer/model/optim/step_mask.hpp"

namespace curtail::optim {

/// Orthogonalizes each of K matrices approximately: U S V^T becomes U V^T, by five Polar Express
/// steps (arXiv:2505.16932). x is (K, m, n). The result has the shape of x and the type `products`,
/// float32 or bfloat16. The matrix products are computed in this type. A zero matrix stays zero.
[[nodiscard]] at::Tensor polar_express(at::Tensor const& x, at::ScalarType products);

/// The scheduled values for one step of Muon on matrices (m, n).
struct MuonRates {
    double rate{};          ///< learning rate, before Muon scales it by sqrt(max(1, m / n))
    double momentum{};      ///< factor of the momentum, 0 to 1
    double weight_decay{};  ///< weight decay, before Muon multiplies it by the scaled learning rate
};

/// Muon for K matrices of one shape (m, n). One call of polar_express() orthogonalizes all of them.
/// Uses Nesterov momentum and NorMuon's variance reduction (arXiv:2510.05491). Muon's weight decay
/// is cautious: a weight does not decay in a step that moves the weight away from zero.
class Muon {
  public:
    /// `count` is K, `rows` is m and `columns` is n. Matrix products are computed in the type
    /// `products`.
    /// The state is on `device`.
    Muon(std::int64_t count, std::int64_t rows, std::int64_t columns, at::ScalarType products,
         c10::Device device = at::kCPU);
    /// Makes one step. `weights` are the K matrices, which the step changes in place. `gradients`
    /// are the gradients of these matrices, in the same order. Returns the sum of the squares of
    /// the changes of all weights, a double scalar on the device.
    at::Tensor step(std::span<at::Tensor const> weights, std::span<at::Tensor const> gradients,
                    MuonRates rates, StepMask const& mask = {});

    [[nodiscard]] at::Tensor const& momentum() const { return momentum_; }  ///< (K, m, n)
    /// Returns the running mean of the squares of the orthogonalized updates. If m >= n, there is
    /// one value per row: (K, m, 1). Otherwise there is one value per column: (K, 1, n). The type
    /// is float32, but the values are rounded to `products`.
    [[nodiscard]] at::Tensor const& second_momentum() const { return second_; }

  private:
    /// The matrices first, first + 1, ... with their gradients.
    struct Slice {
        std::int64_t first;
        std::span<at::Tensor const> weights, gradients;
    };
    at::Tensor step_slice(Slice const& slice, MuonRates rates, StepMask const& mask);
    void update_momentum(Slice const& slice, double beta, at::Tensor const& skip);

    at::ScalarType products_;
    at::Tensor momentum_, second_;
    std::int64_t slice_;  ///< matrices that a step updates at once
    at::Tensor update_;   ///< for the matrices of a slice
};

}  // namespace curtail::optim
