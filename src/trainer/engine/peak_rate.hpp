// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

namespace curtail::trainer {

/// Returns the peak rate of a GPU for products of dense bfloat16 matrices, in 10^12 operations per
/// second. `name` is the driver's (comm::GpuIdentity). Returns an empty optional for an unknown
/// GPU, and for a part of one (MIG).
[[nodiscard]] std::optional<double> peak_tflops_of(std::string_view name);

}  // namespace curtail::trainer
