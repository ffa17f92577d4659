// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <mutex>

#include "core/time.hpp"

namespace curtail::train {

/// Lets the round thread wait while the ranks write the snapshot of a cut. A site must not announce
/// a contribution before its snapshot is on the disk. Otherwise the next process of the site would
/// continue with an older state of the optimizer.
class SnapshotGate {
  public:
    /// A snapshot is being written, or will be at once. Or it is on the disk, or has failed.
    void set(bool writing)
    {
        {
            std::lock_guard const lock(mutex_);
            writing_ = writing;
        }
        opened_.notify_all();
    }
    /// Waits until no snapshot is being written, for at most `limit`. Returns false if one still
    /// is.
    [[nodiscard]] bool wait(Millis limit)
    {
        std::unique_lock lock(mutex_);
        return opened_.wait_for(lock, limit, [this] { return !writing_; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable opened_;
    bool writing_{false};
};

}  // namespace curtail::train
