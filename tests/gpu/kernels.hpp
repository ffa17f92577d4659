// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/measured.hpp"
#include "trainer/model/kernels/comparison.hpp"

namespace curtail::check {

/// Returns sizes with which a GPU is busy: those of depth 20 (docs/model.md), with 8192 tokens.
/// The logits are those of 256 tokens.
[[nodiscard]] model::KernelSizes large_kernel_sizes();

/// Compares operations with ATen's (model::compare_kernels), and their times with those of
/// aten_kernels() on the same device in the same type. Each time takes `seconds_per_time` to
/// measure; with 0, none is measured. Calls `visit` for each operation as soon as it is measured.
void check_kernels(model::KernelSubject const& subject, double seconds_per_time,
                   std::function<void(Measured const&)> const& visit);

}  // namespace curtail::check
