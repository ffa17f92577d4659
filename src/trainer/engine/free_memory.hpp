// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <c10/core/Device.h>

#include <optional>

#include "base/core/units.hpp"

namespace curtail::trainer {

/// Returns the memory of `device` that no process uses; on a CPU, at most what the process's
/// control groups allow. Returns an empty optional if it is unknown.
[[nodiscard]] std::optional<Bytes> free_memory(c10::Device device);

}  // namespace curtail::trainer
