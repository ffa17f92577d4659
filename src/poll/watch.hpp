// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>

#include "poll/poll.hpp"
#include "poll/site_loop.hpp"

namespace curtail::poll {

/// The user's requests to a watch, made from another thread.
class StopRequest {
  public:
    /// The first request stops the watch. The second cancels jobs instead of waiting for them.
    void raise() { ++level_; }
    [[nodiscard]] int level() const { return level_; }

  private:
    std::atomic<int> level_{0};
};

struct WatchOptions {
    bool drain_on_exit{false};  ///< a stop request drains all jobs and waits for their end;
                                ///< otherwise the jobs keep running
    LoopIntervals intervals;
    Millis patience{60'000};  ///< at the end: how long jobs may take beyond the grace period before
                              ///< they are cancelled. A cancel may take as long, but at most 15 s
    std::function<void(double, double)> progress;  ///< (done, total) seconds of a replay
};

/// Polls until a stop request or the end of the trace. At the end of a trace it drains all jobs.
/// `interrupted` if a replay was stopped before its end. `temporary` if another poller is active,
/// or if jobs of a site could not be stopped.
[[nodiscard]] Result<PollResult> watch(PollContext context, WatchOptions const& options,
                                       StopRequest const& stop);

}  // namespace curtail::poll
