// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <array>
#include <cstddef>
#include <optional>

#include "trainer/data/loader.hpp"

namespace curtail::trainer {

/// Moves the rows of micro-batches to the device. The copy of one overlaps with the computation of
/// the one before it.
class BatchFeed {
  public:
    explicit BatchFeed(c10::Device device);

    /// (B, T) int64, on the device
    struct Tensors {
        at::Tensor inputs, targets;
    };
    /// Returns `batch` for use by the work that is enqueued next. Does not wait. The tensors of the
    /// call before the last one become invalid: the work that reads them must be done.
    ///
    /// On a CPU the tensors share the memory of the last `batch`, which the feed keeps.
    [[nodiscard]] Tensors load(data::Batch batch);

  private:
    struct Slot {
        at::Tensor host, device;  ///< (2, B, T): inputs and targets; `host` is pinned memory
    };
    [[nodiscard]] Slot& next_slot(data::Batch const& batch);

    c10::Device device_;
    std::optional<c10::Stream> copies_;  ///< empty on a CPU
    std::array<Slot, 2> slots_;
    std::size_t loaded_{0};  ///< number of batches so far
    data::Batch batch_;
};

}  // namespace curtail::trainer
