// SPDX-License-Identifier: Apache-2.0
#pragma once

// Kernels of our own for NVIDIA GPUs (docs/gpu.md).

#include <memory>

#include "trainer/model/kernels/cuda/arguments.hpp"
#include "trainer/model/kernels/kernels.hpp"

namespace curtail::model {

/// Which operations run as kernels of our own. All others run as ATen's operators.
struct CudaKernelSet {
    bool embed{false};
    bool normalize{false};
    bool mix{false};
    bool rotate{false};
    bool square_relu{false};
    bool cross_entropy{false};
    /// Returns the set of all.
    [[nodiscard]] static CudaKernelSet all() { return {true, true, true, true, true, true}; }
};

/// Returns an implementation for a GPU whose operations of `set` are kernels of our own, for
/// float32 and bfloat16. Returns null in a build for CPUs. An operation runs on the current stream
/// of its tensors' device. If a tensor has another type, or rows that are not multiples of 16
/// bytes, the operation runs as ATen's operators. Targets of cross_entropy() that are too large
/// give NaN instead of an exception. An operation throws std::runtime_error if its kernel cannot be
/// started.
[[nodiscard]] std::unique_ptr<Kernels const> cuda_kernels(CudaKernelSet set);

/// Returns whether our kernels can rotate heads of this size: half a head must consist of packs of
/// 16 bytes.
[[nodiscard]] bool rotates(HeadSizes sizes, at::ScalarType type);

/// Returns the compute capability of a GPU: 90 for 9.0. Returns 0 if it is unknown, and in a build
/// for CPUs.
[[nodiscard]] int compute_capability(int device);

/// Returns the implementation that starts the kernels of `table`. Its tensors must be in the memory
/// that these kernels access. `table` must outlive it.
[[nodiscard]] std::unique_ptr<Kernels const> kernels_of(CudaTable const& table, CudaKernelSet set);

}  // namespace curtail::model
