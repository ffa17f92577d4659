// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include "base/core/large_memory.hpp"

namespace curtail::trainer {

/// Returns `count` elements of pinned host memory with any values. A GPU copies to and from it
/// several times as fast as other memory. PyTorch takes the next power of two of bytes. Throws
/// c10::Error if the system does not give the memory, or has no GPU.
[[nodiscard]] at::Tensor pinned_memory(std::int64_t count, at::ScalarType type);

/// Returns memory for direct I/O, for copies from `device`, that is pinned if the system allows it.
/// PyTorch does not align what it pins. Throws std::bad_alloc if there is not enough memory.
[[nodiscard]] AlignedMemory pinned_block(std::size_t bytes, c10::Device device);

/// Copies values between host memory and a device. Copies from and to a GPU pass through 32 MB of
/// pinned memory, which the first copy allocates; without such memory, they are direct and slow.
class HostCopy {
  public:
    explicit HostCopy(c10::Device device) : direct_(device.is_cpu()) {}
    /// Copies pass through `staging`, a vector in host memory.
    explicit HostCopy(at::Tensor staging) : direct_(false), staging_(std::move(staging)) {}
    /// Copies the elements of `from` to `to`: float32 vectors of one size. One may be on the
    /// device. Returns when the copy is done.
    void copy(at::Tensor const& from, at::Tensor const& to);

  private:
    bool direct_;
    at::Tensor staging_;
};

}  // namespace curtail::trainer
