// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <c10/core/ScalarType.h>

namespace curtail::model {

/// Returns the type of gradients, losses and factors of normalizations, where weights and
/// activations have the type `type`: float32 for bfloat16, otherwise `type`.
[[nodiscard]] constexpr c10::ScalarType type_of_sums(c10::ScalarType type)
{
    return type == c10::kBFloat16 ? c10::kFloat : type;
}

}  // namespace curtail::model
