// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace curtail::trainer {

/// Registers memory of the process with CUDA, which then copies to and from it as fast as the GPU's
/// connection allows. Its pages must exist: CUDA holds a lock that all its calls need until it has
/// them. Returns false if CUDA cannot do it, and in a build for CPUs.
[[nodiscard]] bool register_host_memory(void* memory, std::size_t bytes);

/// Ends the registration. Call it before the memory is freed.
void unregister_host_memory(void* memory) noexcept;

}  // namespace curtail::trainer
