// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products of the GPT. A weight matrix w (outputs, inputs) maps rows x (N, inputs) to rows
// x w^T (N, outputs).

#include <ATen/core/Tensor.h>

namespace curtail::model {

/// Sets `out` (N, outputs) to x w^T. Creates `out` if it is undefined.
void multiply(at::Tensor const& x, at::Tensor const& w, at::Tensor& out);
/// Adds x w^T to `sum` (N, outputs).
void add_product(at::Tensor const& x, at::Tensor const& w, at::Tensor const& sum);
/// Sets `dx` (N, inputs) to the derivative of x, dy w. Creates `dx` if it is undefined.
void multiply_backward(at::Tensor const& dy, at::Tensor const& w, at::Tensor& dx);
/// Adds the derivative of w, dy^T x, to `dw`, which may have a wider type. The product has the type
/// of x; the sum has that of `dw`.
void add_weight_gradient(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& dw);

}  // namespace curtail::model
