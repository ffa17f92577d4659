// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <c10/core/ScalarType.h>

#include "base/core/units.hpp"
#include "run/config/model.hpp"
#include "trainer/model/gpt.hpp"

namespace curtail::model {

/// Returns the memory of a forward and backward pass on `rows` rows, with weights of the type
/// `type`: activations, scratch and logits, without the weights and their gradients. An estimate;
/// the operators of PyTorch need up to a fifth more on a CPU.
[[nodiscard]] Bytes pass_memory(config::Model const& shape, c10::ScalarType type, std::int64_t rows,
                                Activations activations, bool on_gpu);

}  // namespace curtail::model
