// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/linalg_vector_norm.h>

namespace curtail::optim {

/// Returns the sum of the squares of all elements, as a double scalar on the device of `tensor`.
[[nodiscard]] inline at::Tensor sum_of_squares(at::Tensor const& tensor)
{
    auto const norm = at::linalg_vector_norm(tensor).to(at::kDouble);
    return norm.mul(norm);
}

}  // namespace curtail::optim
