// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <signal.h>

#include <thread>

#include "poll/watch.hpp"

namespace curtail::apps {

/// A listener that turns SIGINT, SIGTERM and SIGHUP into stop requests. A process that ignores
/// SIGHUP (nohup) still ignores it. Create the listener before any other thread, because threads
/// inherit the blocked signals.
class StopSignals {
  public:
    StopSignals();
    [[nodiscard]] poll::StopRequest const& request() const { return request_; }

  private:
    sigset_t set_{};
    poll::StopRequest request_;
    std::jthread listener_;
};

}  // namespace curtail::apps
