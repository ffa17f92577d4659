// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <thread>

#include "rounds/site.hpp"
#include "train/mailbox.hpp"
#include "train/round_executor.hpp"

namespace curtail::train {

/// The leader's background thread. Runs the round protocol (rounds::Site) against the store while
/// the training loop trains.
class RoundThread {
  public:
    /// Ends the process if join() is not called in time, for example because a rank hangs. The
    /// time is over at the first of these two moments:
    ///
    /// * the result of `exit_by`
    /// * after the order Leave, once `grace` and four times the duration of the longest optimizer
    ///   step so far have both passed
    struct Watchdog {
        /// Returns when the process must end because of a stop request, empty if there was none.
        /// Must be safe to call from any thread. The thread calls it about once per second.
        std::function<std::optional<MonoTime>()> exit_by{};
        Millis grace{};  ///< time from a stop request until the launcher kills the job
        /// Ends the process. If this function is empty, the watchdog is off: the thread waits for
        /// join() without a limit.
        std::function<void(Error const&)> end_process{};
    };
    /// Starts the thread. Replaces `parts.order` by a function that queues orders for try_order()
    /// and order_until(). Everything that `parts` refers to must outlive the thread.
    RoundThread(rounds::Site site, RoundExecutor::Parts parts, Watchdog watchdog);
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
    [[nodiscard]] rounds::Rate rate() const { return rate_; }
    /// Waits for the thread to end and returns the final state of the protocol. Call it soon after
    /// taking the order Leave: until join() is called, the watchdog may end the process.
    [[nodiscard]] rounds::Site const& join();

  private:
    void run();
    void run_until_exit();
    void wait_until_left();
    [[nodiscard]] bool grace_is_over() const;
    [[nodiscard]] bool left_unanswered() const;
    [[nodiscard]] bool check_watchdog();
    void feed(rounds::Input input);
    void publish_status();

    Recorder& recorder_;
    Mailbox<LoopEvent> events_;
    Mailbox<Order> orders_;
    rounds::Site site_;
    RoundExecutor executor_;
    std::atomic<rounds::Rate> rate_;
    std::atomic<bool> abandoned_{false};  ///< the destructor has begun
    Watchdog watchdog_;
    std::atomic<Millis> longest_step_{Millis{0}};
    std::optional<Leave> leave_;          ///< the order to leave, once it is posted
    std::optional<MonoTime> leave_time_;  ///< when the thread posted `leave_`
    /// The thread waits for this before it ends. join() and the destructor release it.
    std::counting_semaphore<> taken_{0};
    std::thread thread_;
};

}  // namespace curtail::train
