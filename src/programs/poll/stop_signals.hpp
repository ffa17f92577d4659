// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <signal.h>

#include <thread>

#include "poller/poll/watch.hpp"

namespace curtail::programs {

/// Turns SIGINT, SIGTERM and SIGHUP into stop requests, in a thread of its own. If the process
/// ignores SIGHUP (as under nohup), this object leaves SIGHUP alone. The constructor blocks
/// these signals in the calling thread. Create this object before any other thread, because a new
/// thread inherits the set of blocked signals from its creator.
class StopSignals {
  public:
    StopSignals();
    [[nodiscard]] poll::StopRequest const& request() const { return request_; }

  private:
    sigset_t set_{};
    poll::StopRequest request_;
    std::jthread listener_;
};

}  // namespace curtail::programs
