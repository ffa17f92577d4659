// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

namespace curtail::optim {

/// Decides on the device whether a step changes anything, so that the host need not wait for the
/// decision.
struct StepMask {
    /// A float32 scalar on the device of the weights: 1 to change neither weights nor state, 0 to
    /// make the step. If undefined, the step is made.
    at::Tensor skip;
};

}  // namespace curtail::optim
