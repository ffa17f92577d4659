// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

#include "base/core/units.hpp"
#include "run/config/run.hpp"

namespace curtail::trainer {

/// The memory that a rank needs on its device. An estimate (docs/gpu.md).
struct RankMemory {
    Bytes weights;    ///< and their gradients: the same on every rank
    Bytes optimizer;  ///< the rank's share of the masters and of the optimizer's state
    Bytes work;       ///< its share of the anchor, and of one delta that no commit has decided
    Bytes exchange;   ///< with other ranks
    Bytes row;        ///< a forward and backward pass of one row
    [[nodiscard]] Bytes total() const { return weights + optimizer + work + exchange + row; }
};
/// Returns the memory that the rank with the largest share needs. The model computes in the type
/// `type`. With `on_gpu`, exchanges overlap with other work (trainer/engine/shard_exchange.hpp).
[[nodiscard]] RankMemory rank_memory(config::Run const& run, int ranks, at::ScalarType type,
                                     bool on_gpu);

/// The memory of a rank's device.
struct DeviceMemory {
    std::optional<Bytes> free;
    int ranks{1};  ///< number of ranks that share it
};
/// Fails with `unavailable` if the model does not fit. Its message says how much memory each part
/// needs, and what would help.
[[nodiscard]] Result<void> check_memory(config::Run const& run, int ranks, at::ScalarType type,
                                        bool on_gpu, DeviceMemory const& memory);

}  // namespace curtail::trainer
