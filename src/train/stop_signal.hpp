// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "core/time.hpp"

namespace curtail::train {

/// Turns stop requests into a flag. While the object exists, the signals SIGUSR1 (drain, sent by
/// the poller), SIGTERM and SIGINT only set the flag.
///
/// The job script starts the ranks with SIGUSR1 and SIGTERM blocked. A signal that arrives while
/// libraries load therefore waits and does not kill the rank. The constructor unblocks the three
/// signals once it has installed its handlers.
class StopSignal {
  public:
    StopSignal();
    /// From here on, the process ignores the three signals, because a repeated drain must not kill
    /// a rank that is about to exit.
    ~StopSignal();
    StopSignal(StopSignal const&) = delete;
    StopSignal& operator=(StopSignal const&) = delete;

    /// Returns true once a signal has arrived. Safe from any thread.
    [[nodiscard]] bool raised() const { return raised_at().has_value(); }
    /// Returns the arrival time of the first signal, empty if none has arrived. Deadlines count
    /// from this time. Safe from any thread.
    [[nodiscard]] std::optional<MonoTime> raised_at() const;
};

}  // namespace curtail::train
