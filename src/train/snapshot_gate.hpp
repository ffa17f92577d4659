// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <mutex>

#include "core/time.hpp"

namespace curtail::train {

/// Lets the round thread wait while the training loop writes the snapshot of a cut. A contribution
/// that is announced before its snapshot is on the disk would make the next process of the site
/// continue with an older state of the optimizer.
class SnapshotGate {
  public:
    /// While it exists, the training loop writes a snapshot.
    class Closed {
      public:
        explicit Closed(SnapshotGate& gate) : gate_(gate) { gate_.set(true); }
        ~Closed() { gate_.set(false); }
        Closed(Closed const&) = delete;
        Closed& operator=(Closed const&) = delete;

      private:
        SnapshotGate& gate_;
    };
    /// Waits until no snapshot is being written, for at most `limit`. Returns false if one still
    /// is.
    [[nodiscard]] bool wait(Millis limit)
    {
        std::unique_lock lock(mutex_);
        return opened_.wait_for(lock, limit, [this] { return !writing_; });
    }

  private:
    void set(bool writing)
    {
        {
            std::lock_guard const lock(mutex_);
            writing_ = writing;
        }
        opened_.notify_all();
    }
    std::mutex mutex_;
    std::condition_variable opened_;
    bool writing_{false};
};

}  // namespace curtail::train
