// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

#include "base/core/clock.hpp"
#include "trainer/comm/patience.hpp"

namespace curtail::comm {

/// Paces a loop that polls for the end of an operation. The loop polls continuously for 0.2 ms.
/// Then it sleeps between polls, so that a long wait does not occupy a core. A sleep lasts a
/// sixteenth of the time waited so far, but at least 0.02 ms and at most 1 ms.
class Backoff {
  public:
    /// Yields the processor and returns true, in the first 0.2 ms. Returns false afterwards.
    [[nodiscard]] bool spin();
    /// Sleeps. Call it after spin() has returned false.
    void nap() const;

  private:
    std::chrono::steady_clock::time_point begin_{std::chrono::steady_clock::now()};
    std::chrono::microseconds waited_{0};
};

/// Calls `done` until it returns true. Returns false if the wait lasts too long. `done` may throw.
template <class Done>
[[nodiscard]] bool poll(Done const& done, Patience const& patience)
{
    Backoff backoff;
    WaitTimer timer(patience, monotonic_now());
    while (!done()) {
        if (backoff.spin()) continue;
        if (timer.over(monotonic_now())) return false;
        backoff.nap();
    }
    return true;
}

}  // namespace curtail::comm
