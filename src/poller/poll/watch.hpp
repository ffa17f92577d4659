// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>

#include "poller/poll/poll.hpp"
#include "poller/poll/site_loop.hpp"

namespace curtail::poll {

/// Counts the user's requests to stop. Another thread calls raise() while watch() runs.
class StopRequest {
  public:
    /// Adds a request. The first request asks watch() to return. If watch() is waiting for jobs to
    /// end, the second request makes watch() cancel these jobs.
    void raise() { ++level_; }
    /// Returns how many requests were made.
    [[nodiscard]] int level() const { return level_; }

  private:
    std::atomic<int> level_{0};
};

/// The options of watch().
struct WatchOptions {
    /// Whether, after a stop request, watch() drains all jobs and waits for them to end. If not,
    /// the jobs keep running.
    bool drain_on_exit{false};
    LoopIntervals intervals;
    /// When jobs are to stop, watch() waits for the longest grace period of all sites, and then for
    /// `patience`. It then cancels the jobs that have not ended, and waits again: for `patience` or
    /// 15 s, whichever is shorter. If a job is left after that, watch() fails.
    Millis patience{60'000};
    /// Called repeatedly in a replay; may be empty. The first argument is the time from the start
    /// of watch() until now. The second is the time from the start of watch() until the end of the
    /// trace. Both are in seconds on the signal's clock.
    std::function<void(double, double)> progress;
};

/// Polls until a stop request or the end of the trace. At the end of the trace, drains all jobs.
/// Fails with `interrupted` if a replay was stopped before its end. Fails with `temporary` if
/// another poller is active or has taken the lock since, or if jobs of a site could not be stopped.
[[nodiscard]] Result<PollResult> watch(PollContext context, WatchOptions const& options,
                                       StopRequest const& stop_request);

}  // namespace curtail::poll
