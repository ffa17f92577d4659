// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

namespace curtail {

/// Gives `values` `count` zeros. New memory is in huge pages where the system has them: large
/// vectors are then filled and read faster.
void set_zeros(std::vector<float>& values, std::size_t count);

}  // namespace curtail
