// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace curtail::model {

/// Throws std::out_of_range unless every id is in [first, end). Does nothing if the ids are not on
/// the CPU, because reading them there would wait for the device.
void check_ids(at::Tensor const& ids, std::int64_t first, std::int64_t end);

}  // namespace curtail::model
