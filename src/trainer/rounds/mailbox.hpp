// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace curtail::trainer {

/// Passes messages from one thread to another, in order.
template <class Message>
class Mailbox {
  public:
    void post(Message message)
    {
        std::lock_guard const lock(mutex_);
        messages_.push_back(std::make_unique<Message>(std::move(message)));
        arrived_.notify_one();
    }
    /// Returns the next message, or null if there is none.
    [[nodiscard]] std::unique_ptr<Message> try_take()
    {
        std::lock_guard const lock(mutex_);
        return pop();
    }
    /// Ends a wait in take_until() now, or the next one at once.
    void wake()
    {
        std::lock_guard const lock(mutex_);
        woken_ = true;
        arrived_.notify_one();
    }
    /// Waits for the next message and returns it. Returns null if none arrives before `deadline`,
    /// or after wake().
    template <class Clock, class Duration>
    [[nodiscard]] std::unique_ptr<Message> take_until(
        std::chrono::time_point<Clock, Duration> deadline)
    {
        std::unique_lock lock(mutex_);
        arrived_.wait_until(lock, deadline, [&] { return woken_ || !messages_.empty(); });
        woken_ = false;
        return pop();
    }

  private:
    std::unique_ptr<Message> pop()
    {
        if (messages_.empty()) return nullptr;
        auto message = std::move(messages_.front());
        messages_.pop_front();
        return message;
    }
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::deque<std::unique_ptr<Message>> messages_;
    bool woken_{false};
};

}  // namespace curtail::trainer
