// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "core/time.hpp"

namespace curtail::train {

/// During its lifetime, SIGUSR1 (drain, from the poller), SIGTERM and SIGINT only set a flag.
/// Unblocks these signals once its handlers are installed: the job script starts ranks with SIGUSR1
/// blocked, so that a drain during library loading stays pending and does not kill the rank.
class StopSignal {
  public:
    StopSignal();
    /// Leaves the signals ignored: a repeated drain must not kill a rank that is about to exit.
    ~StopSignal();
    StopSignal(StopSignal const&) = delete;
    StopSignal& operator=(StopSignal const&) = delete;

    /// True after a stop request. Safe from any thread.
    [[nodiscard]] bool raised() const { return raised_at().has_value(); }
    /// The time of the first signal, from which deadlines count. Safe from any thread.
    [[nodiscard]] std::optional<MonoTime> raised_at() const;
};

}  // namespace curtail::train
