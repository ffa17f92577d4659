// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "core/log.hpp"
#include "train/engine.hpp"

namespace curtail::train {

/// Logs when the ranks have made their micro-batches smaller, for want of memory.
class DeviceRowsNote {
  public:
    /// `rows` is the size of a micro-batch at the start.
    explicit DeviceRowsNote(std::int64_t rows) : rows_(rows) {}
    void note(StepOutcome const& outcome, Log const& log)
    {
        if (outcome.device_rows == rows_) return;
        rows_ = outcome.device_rows;
        log.warning("a rank ran out of memory: each rank now computes at most " +
                    std::to_string(rows_) + (rows_ == 1 ? " row" : " rows") +
                    " at once; the steps stay the same (to avoid this at the next start, set "
                    "training.device_batch_rows to this number)");
    }

  private:
    std::int64_t rows_;
};

}  // namespace curtail::train
