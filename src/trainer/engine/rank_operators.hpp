// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "base/core/log.hpp"
#include "run/config/run.hpp"
#include "trainer/model/gpu_operators.hpp"

namespace curtail::trainer {

/// Returns the operators with which a rank trains on a GPU: those of `choice`, after a check
/// (docs/gpu.md), with the attention of `rows` rows. Logs a warning for each one that the check
/// replaces. Returns an empty optional on a CPU. Fails as without_exceptions() if the GPU does not
/// work any more.
[[nodiscard]] Result<std::optional<model::CheckedOperators>> rank_operators(
    config::Run const& run, model::GpuChoice const& choice, c10::Device device, std::int64_t rows,
    Log const& log);

}  // namespace curtail::trainer
