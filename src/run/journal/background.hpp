// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>

#include "base/core/abandonable.hpp"
#include "base/core/call.hpp"

namespace curtail::journal {

/// Repeats some work in a thread of its own, so that its owner never waits for the store.
///
/// If the work hangs, for example because a file server does not answer, the thread is abandoned
/// (base/core/abandonable.hpp).
class Background {
  public:
    /// The work. It may outlive the object, so it must own all that it uses. It should end soon
    /// after its Call is over. It must not throw.
    using Work = std::function<void(Call const&)>;

    /// Starts the thread. It works at once, then `interval` after the end of the previous time.
    /// `limit` is the time limit of each time. Throws std::system_error if the system has no
    /// thread.
    Background(Work work, Millis interval, Millis limit);
    /// Cancels the work and ends the thread. Waits up to 1.5 s for it, unless finish() has failed,
    /// and then abandons it.
    ~Background();
    Background(Background const&) = delete;
    Background& operator=(Background const&) = delete;

    /// Begins to work a last time, after the work that is under way. The last work has most of the
    /// time until `until`; the rest is for its cancellation. Returns at once.
    void begin_finish(MonoTime until);
    /// Calls begin_finish(), and waits for the last work. If it has not ended by `until`, cancels
    /// it and returns false.
    bool finish(MonoTime until);

  private:
    struct Shared;
    static void run(Shared& shared);
    std::shared_ptr<Shared> shared_;
    AbandonableThreads thread_;
    bool is_late_{false};  ///< finish() has waited in vain
};

}  // namespace curtail::journal
