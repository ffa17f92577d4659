// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "trainer/data/loader.hpp"

namespace curtail::trainer {

/// Rows of a batch that all ranks compute together. The ranks can stop before a micro-batch that
/// begins a block.
struct MicroBatch {
    data::RowRange rows;  ///< rows of the batch, for all ranks; see share_of()
    bool begins_block{};  ///< the rows before `rows.begin` form whole blocks

    /// Returns the rows of rank `rank`, of which there are at most `device_rows` (micro_batches).
    [[nodiscard]] data::RowRange share_of(int rank, int ranks) const;
};

/// How ranks compute the batch of a step.
struct BatchShape {
    std::int64_t blocks{};          ///< number of blocks in the batch
    std::int64_t rows_per_block{};  ///< number of rows of a block
    int ranks{1};
    std::int64_t device_rows{};  ///< the most rows that a rank computes at once
};
/// Splits the rows of a batch into micro-batches, in order. A micro-batch has as many whole blocks
/// as fit. If not even one block fits, several micro-batches of about equal size form a block. All
/// numbers in `shape` must be positive, except that `blocks` may be 0.
[[nodiscard]] std::vector<MicroBatch> micro_batches(BatchShape const& shape);

}  // namespace curtail::trainer
