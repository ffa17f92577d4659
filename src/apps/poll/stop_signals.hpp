// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <signal.h>

#include <thread>

#include "poll/watch.hpp"

namespace curtail::apps {

/// Turns SIGINT, SIGTERM and SIGHUP into stop requests; not SIGHUP if it is ignored (nohup). Make
/// it before any other thread: threads inherit the blocked signals.
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
