// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "base/core/abandonable.hpp"
#include "base/core/call_limits.hpp"

namespace curtail {

/// Repeats some work in a thread of its own, so that its owner never waits for it.
///
/// If the work hangs, for example because a file server does not answer, the thread is abandoned
/// (base/core/abandonable.hpp).
class PeriodicTask {
  public:
    /// The work. It may outlive the object, so it must own all that it uses. It should end soon
    /// after its CallLimits are over. It must not throw.
    using Work = std::function<void(CallLimits const&)>;

    /// Runs the work at once, and again `interval` after each run ends. `limit` bounds one run.
    /// Throws std::system_error if the system has no thread.
    PeriodicTask(Work work, Millis interval, Millis limit);
    /// Cancels the work and ends the thread. Waits up to 1.5 s for it, unless finish() has failed,
    /// and then abandons it.
    ~PeriodicTask();
    PeriodicTask(PeriodicTask const&) = delete;
    PeriodicTask& operator=(PeriodicTask const&) = delete;

    /// Begins the next run as soon as the one that is under way has ended. Returns at once.
    void run_soon();
    /// Begins a last run, after the one that is under way. The last run has most of the time until
    /// `until`; the rest is for its cancellation. Returns at once.
    void begin_finish(MonoTime until);
    /// Calls begin_finish(), and waits for the last run. If it has not ended by `until`, cancels
    /// it and returns false.
    bool finish(MonoTime until);

  private:
    struct Shared;
    static void run(Shared& shared);
    std::shared_ptr<Shared> shared_;
    AbandonableThreads thread_;
    bool is_late_{false};  ///< finish() has waited in vain
};

}  // namespace curtail
