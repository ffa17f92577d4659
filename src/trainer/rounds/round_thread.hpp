// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "base/core/clock.hpp"
#include "protocol/site/site.hpp"
#include "trainer/rounds/mailbox.hpp"
#include "trainer/rounds/round_executor.hpp"
#include "trainer/rounds/watchdog.hpp"

namespace curtail::trainer {

/// The leader's background thread. Runs the round protocol (protocol::Site) against the store while
/// the training loop trains.
class RoundThread {
  public:
    /// Starts the thread. Replaces `parts.order` by a function that queues orders for try_order()
    /// and order_until(). Everything that `parts` refers to must outlive the thread.
    /// The watchdog may end the process until join() is called. `suspended` returns for how long
    /// this machine has been suspended; the protocol counts that time, too.
    RoundThread(protocol::Site site, RoundExecutor::Parts parts, Watchdog::Limits watchdog,
                std::function<Millis()> suspended = suspended_time);
    /// Stops the protocol, if it has not ended, and waits for the thread.
    ~RoundThread();
    RoundThread(RoundThread const&) = delete;
    RoundThread& operator=(RoundThread const&) = delete;

    /// Sends an event of the training loop to the protocol.
    void post(LoopEvent event);
    /// Returns the next order, or null if there is none.
    [[nodiscard]] std::unique_ptr<Order> try_order() { return orders_.try_take(); }
    /// Waits for the next order until `deadline`. Returns null if there is none by then.
    [[nodiscard]] std::unique_ptr<Order> order_until(MonoTime deadline)
    {
        return orders_.take_until(deadline);
    }
    /// Returns the site's speed as the protocol last measured it. Safe from any thread.
    [[nodiscard]] protocol::Rate rate() const { return rate_; }
    /// Waits for the thread to end and returns the final state of the protocol. Call it soon after
    /// taking the order protocol::Exit: until join() is called, the watchdog may end the process.
    [[nodiscard]] protocol::Site const& join();

  private:
    void run();
    void run_until_exit();
    void feed(protocol::Input input);
    void publish_status();

    Recorder& recorder_;
    Mailbox<LoopEvent> events_;
    Mailbox<Order> orders_;
    protocol::Site site_;
    std::optional<protocol::Exit> exit_;  ///< the order to exit, once it is posted
    RoundExecutor executor_;
    std::function<Millis()> suspended_;
    MonoTime last_input_{};  ///< time of the last input, on the clock of the protocol
    std::atomic<protocol::Rate> rate_;
    std::atomic<bool> abandoned_{false};  ///< the destructor has begun
    bool stopping_{false};                ///< there was a stop request
    Watchdog watchdog_;
    std::thread thread_;
};

}  // namespace curtail::trainer
