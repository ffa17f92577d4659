// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

namespace curtail {

/// Empties `values` and reserves memory for `count` of them, in huge pages where the system has
/// them: large vectors are then filled and read faster.
void reserve_in_huge_pages(std::vector<float>& values, std::size_t count);

}  // namespace curtail
