// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "support/forwarding_store.hpp"
#include "support/memory_store.hpp"

namespace curtail::trainer::test {

// A store whose operations wait until the test releases them, as those of a file server that does
// not answer. The threads that use it own it.
struct InMemory {
    store::MemoryStore inner;
};
class HangingStore final : public InMemory, public curtail::test::ForwardingStore {
  public:
    HangingStore() : ForwardingStore(inner) {}

    Result<store::CreateOutcome> create(store::ObjectName const& name,
                                        std::span<std::byte const> bytes,
                                        CallLimits const& call) override
    {
        wait();
        return ForwardingStore::create(name, bytes, call);
    }
    Result<void> put(store::ObjectName const& name, Pieces const& bytes,
                     CallLimits const& call) override
    {
        wait();
        return ForwardingStore::put(name, bytes, call);
    }
    Result<bool> read(store::ObjectName const& name, Bytes limit, Sink const& sink,
                      CallLimits const& call) override
    {
        ++reads_;
        wait();
        return ForwardingStore::read(name, limit, sink, call);
    }
    // From now on, one operation waits until the test releases it. All others are answered.
    void hang_once()
    {
        std::lock_guard const guard(mutex_);
        hangs_once_ = hangs_ = true;
    }
    [[nodiscard]] int reads() const { return reads_; }
    void hang()
    {
        std::lock_guard const guard(mutex_);
        hangs_ = true;
    }
    void release()
    {
        std::lock_guard const guard(mutex_);
        hangs_ = false;
        ++releases_;
        changed_.notify_all();
    }
    [[nodiscard]] int waiting()
    {
        std::lock_guard const guard(mutex_);
        return waiting_;
    }

  private:
    void wait()
    {
        std::unique_lock lock(mutex_);
        if (!hangs_) return;
        ++waiting_;
        if (std::exchange(hangs_once_, false)) hangs_ = false;
        auto const released = releases_;
        changed_.wait(lock, [&] { return releases_ != released; });
        --waiting_;
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    bool hangs_{false};
    bool hangs_once_{false};
    int releases_{0};
    int waiting_{0};
    std::atomic<int> reads_{0};
};

}  // namespace curtail::trainer::test
