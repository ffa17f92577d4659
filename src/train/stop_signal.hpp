// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "core/time.hpp"

namespace curtail::train {

/// While it lives, SIGUSR1 (drain, from the poller), SIGTERM and SIGINT only raise a flag. Unblocks
/// them first: the job script starts ranks with SIGUSR1 blocked, so that a drain that arrives while
/// libraries load stays pending instead of killing the rank.
class StopSignal {
  public:
    StopSignal();
    ~StopSignal();  ///< leaves the signals ignored: a drain that is repeated must not kill a rank
                    ///< on its way out
    StopSignal(StopSignal const&) = delete;
    StopSignal& operator=(StopSignal const&) = delete;

    /// True once a stop was asked for. Safe from any thread.
    [[nodiscard]] bool raised() const { return raised_at().has_value(); }
    /// When: deadlines count from here, however long the step takes that is being made. Safe from
    /// any thread.
    [[nodiscard]] std::optional<MonoTime> raised_at() const;
};

}  // namespace curtail::train
