// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>

#include "poll/poll.hpp"
#include "poll/site_loop.hpp"

namespace curtail::poll {

/// Carries the user's requests to stop from another thread to watch().
class StopRequest {
  public:
    /// Adds a request. The first one stops watch(). The second one cancels jobs instead of waiting
    /// for them to end.
    void raise() { ++level_; }
    /// Returns how many requests were made.
    [[nodiscard]] int level() const { return level_; }

  private:
    std::atomic<int> level_{0};
};

/// The options of watch().
struct WatchOptions {
    /// Whether a stop request drains all jobs and waits for them to end. If not, the jobs keep
    /// running.
    bool drain_on_exit{false};
    LoopIntervals intervals;
    /// When jobs are to stop, watch() waits this long after the longest grace period of all sites.
    /// It then cancels the jobs that have not ended. It waits for these jobs for up to `patience`,
    /// but at most 15 s, and then fails.
    Millis patience{60'000};
    std::function<void(double, double)> progress;  ///< receives the seconds of a replay that are
                                                   ///< done, and their total
};

/// Polls until a stop request or the end of the trace. At the end of the trace it drains all jobs.
/// Fails with `interrupted` if a replay was stopped before its end. Fails with `temporary` if
/// another poller is active, or if jobs of a site could not be stopped.
[[nodiscard]] Result<PollResult> watch(PollContext context, WatchOptions const& options,
                                       StopRequest const& stop);

}  // namespace curtail::poll
