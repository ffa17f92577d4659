// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <signal.h>

#include <stop_token>
#include <thread>

namespace curtail::programs::model {

/// Turns the first SIGUSR1, SIGTERM or SIGINT into a stop request, in a thread of its own. A second
/// one ends the process at once, as the signal would without this object. The constructor blocks
/// these signals in the calling thread. Create this object before any other thread, because a new
/// thread inherits the set of blocked signals from its creator.
class StopOnSignal {
  public:
    StopOnSignal();
    [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

  private:
    void on_signal(int number);

    sigset_t set_{};
    std::stop_source stop_;
    std::jthread listener_;
};

}  // namespace curtail::programs::model
