// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "trainer/model/parameters.hpp"

namespace curtail::test {

/// The greatest share by which two results of training may differ if they add the same gradients up
/// in another order. Muon decays a weight only if its update has the same sign, so a rounding error
/// may change single weights by more than a rounding error.
inline constexpr double same_update = 1e-2;

/// Returns |found - expected| / |expected - before| of the tensor where this is greatest. A tensor
/// that should not change, but does, counts as infinite, and so does one that is not finite.
inline double update_error(model::Parameters const& found, model::Parameters const& expected,
                           model::Parameters const& before)
{
    double worst = 0;
    for (auto const& [name, tensor] : expected.named()) {
        auto const norm = [](at::Tensor const& all) {
            return at::linalg_vector_norm(all).item<double>();
        };
        double const error = norm(found.get(name).sub(tensor));
        double const update = norm(tensor.sub(before.get(name)));
        if (error == 0) continue;
        double const share = error / update;
        if (!std::isfinite(share)) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, share);
    }
    return worst;
}

}  // namespace curtail::test
