// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <signal.h>

#include <thread>

#include "poll/watch.hpp"

namespace curtail::apps {

/// A listener that turns SIGINT, SIGTERM and SIGHUP into stop requests. If the process ignores
/// SIGHUP (as under nohup), the listener leaves SIGHUP alone. In the calling thread, the
/// constructor blocks the listener's signals. Create the listener before any other thread, because
/// a thread inherits the set of blocked signals from its creator.
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
