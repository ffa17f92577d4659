// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/core/result.hpp"

namespace curtail::check {

/// A library of NVIDIA, as loaded.
struct LibraryVersion {
    std::string name;
    std::string version;  ///< "none" if the library is missing
};

// All functions exist only with the CMake option CURTAIL_GPU.

/// Returns the versions of CUDA's runtime, of the driver's CUDA, of cuDNN and of NCCL.
[[nodiscard]] std::vector<LibraryVersion> gpu_libraries();

/// Returns the GPUs of this machine, such as "NVIDIA H100 80GB HBM3 (sm_90)". Fails with
/// `unavailable` if there is none, or no usable driver.
[[nodiscard]] Result<std::vector<std::string>> gpus();

}  // namespace curtail::check
