// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <signal.h>

#include "base/core/units.hpp"

namespace curtail::programs {

/// Ends a repetition at SIGINT or SIGTERM. From the constructor on, the first of these signals no
/// longer ends the process; a second one does. Only one object may exist.
class Interrupts {
  public:
    Interrupts();
    Interrupts(Interrupts const&) = delete;
    Interrupts& operator=(Interrupts const&) = delete;

    /// Waits for `time`. Returns false, at once, if a signal arrives or has arrived before.
    [[nodiscard]] bool wait(Millis time) const;

  private:
    sigset_t before_{};  ///< the blocked signals before the constructor
};

}  // namespace curtail::programs
