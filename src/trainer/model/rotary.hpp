// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "trainer/model/kernels/kernels.hpp"

namespace curtail::model {

/// Returns the tables of cos(t w) and sin(t w) for the positions t from 0 to sequence - 1 and the
/// frequencies w = 10000^(-2 i / D), i from 0 to D / 2 - 1. D is `head_size`. The values are
/// rounded to bfloat16, as in nanochat.
[[nodiscard]] RotaryTables rotary_tables(std::int64_t sequence, std::int64_t head_size,
                                         at::TensorOptions options);

}  // namespace curtail::model
