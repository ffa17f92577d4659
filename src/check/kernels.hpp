// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "check/measured.hpp"
#include "model/kernels/kernels.hpp"

namespace curtail::check {

/// The sizes of the tensors with which kernels are checked.
struct KernelSizes {
    std::int64_t tokens{};
    std::int64_t sequence{};  ///< T; divides `tokens`
    std::int64_t width{};     ///< C
    model::HeadSizes heads;
    std::int64_t logit_rows{};  ///< tokens of the cross entropy
    std::int64_t vocabulary{};  ///< V
    std::int64_t padded_vocabulary{};
};

/// Returns sizes with which a GPU is busy: those of depth 20 (docs/model.md), with 8192 tokens.
/// The logits are those of one slice of the head.
[[nodiscard]] KernelSizes large_kernel_sizes();

/// The kernels to check, and the tensors to check them with.
struct KernelSubject {
    model::Kernels const& kernels;
    at::Device device;
    at::ScalarType type;  ///< float32 or bfloat16
    KernelSizes sizes;
    double seconds_per_time{};  ///< how long to measure a time; 0: measure none
};

/// Compares each operation with aten_kernels() in double precision on the CPU, from the same random
/// inputs. The error of an element is |found - exact| / (|exact| + root mean square of all exact
/// elements). The times are compared with those of aten_kernels() on the same device in the same
/// type. Calls at::manual_seed().
[[nodiscard]] std::vector<Measured> check_kernels(KernelSubject const& subject);

}  // namespace curtail::check
