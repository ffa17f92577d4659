// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <mutex>

#include "base/core/time.hpp"

namespace curtail::trainer {

/// Lets the round thread wait while the ranks write the snapshot of a cut. A site must not announce
/// a contribution before its snapshot is on the disk. Otherwise the next process of the site would
/// continue with an older state of the optimizer.
class SnapshotGate {
  public:
    enum class State {
        open,       ///< the snapshot is on the disk, or has failed
        announced,  ///< the ranks are about to copy their values
        writing     ///< they have copied their values, and write them
    };
    void set(State state)
    {
        std::lock_guard const lock(mutex_);
        state_ = state;
        changed_.notify_all();
    }
    /// Waits until no snapshot is being written, for at most `limit` after the ranks have copied
    /// their values. Returns false if one still is.
    [[nodiscard]] bool wait(Millis limit)
    {
        constexpr Millis longest_copy{60'000};
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, longest_copy, [this] { return state_ != State::announced; });
        return changed_.wait_for(lock, limit, [this] { return state_ == State::open; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    State state_{State::open};
};

}  // namespace curtail::trainer
