// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/core/time.hpp"

namespace curtail::comm {

/// How long a rank waits for another rank before it gives up.
struct Patience {
    /// The longest wait while nobody has asked the job to stop.
    Millis limit{120'000};
    /// Returns when every wait must end because the job was asked to stop. Returns an empty
    /// optional if nobody has asked. May be empty itself. The waiting thread calls it about once
    /// per millisecond.
    std::function<std::optional<MonoTime>()> stop_end{};
};

/// Returns why a wait ended: "a rank did not arrive within 3.0 s".
[[nodiscard]] std::string late_rank(Patience const& patience);

/// Decides whether one wait has lasted too long.
///
/// The time up to `Patience::limit` is counted in ticks of this process. Between two calls of
/// over(), at most one second counts. Time in which the process was suspended, with SIGSTOP or with
/// its virtual machine, therefore does not count.
class WaitTimer {
  public:
    /// The wait begins at `now`. `patience` must outlive the timer.
    WaitTimer(Patience const& patience, MonoTime now) : patience_(patience), last_(now) {}
    /// Returns true if the wait has lasted too long. Call it at least once per second.
    [[nodiscard]] bool over(MonoTime now);
    /// Returns the time counted so far.
    [[nodiscard]] Millis waited() const { return waited_; }

  private:
    Patience const& patience_;
    MonoTime last_;
    Millis waited_{0};
};

}  // namespace curtail::comm
