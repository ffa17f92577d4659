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

/// The leader's background thread: runs the round protocol (rounds::Site) against the store while
/// the training loop trains.
class RoundThread {
  public:
    /// Ends the process if the training loop does not return in time, because a rank hangs or a
    /// step takes too long.
    struct Watchdog {
        /// When this process was asked to stop, if it was. Safe from any thread.
        std::function<std::optional<MonoTime>()> stop_requested_at{};
        Millis grace{};  ///< of the launcher, which then kills the job
        /// Ends the process. If empty, the thread waits forever.
        std::function<void(Error const&)> end_process{};
    };
    /// Sets `parts.order`. Everything that `parts` refers to must outlive the thread.
    RoundThread(rounds::Site site, RoundExecutor::Parts parts, Watchdog watchdog);
    ~RoundThread();
    RoundThread(RoundThread const&) = delete;
    RoundThread& operator=(RoundThread const&) = delete;

    void post(LoopEvent event);
    [[nodiscard]] std::unique_ptr<Order> try_order() { return orders_.try_take(); }
    [[nodiscard]] std::unique_ptr<Order> order_until(MonoTime deadline)
    {
        return orders_.take_until(deadline);
    }
    /// This site's speed as the protocol measured it, for the snapshot. Safe from any thread.
    [[nodiscard]] rounds::Rate rate() const { return rate_; }
    /// Returns the final state of the protocol. Call soon after taking Leave: the watchdog runs
    /// until then.
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
    std::atomic<bool> abandoned_{false};
    Watchdog watchdog_;
    std::atomic<Millis> longest_step_{Millis{0}};
    std::optional<Leave> leave_;          ///< the order to leave, once posted
    std::optional<MonoTime> leave_time_;  ///< when the thread posted it
    std::counting_semaphore<> taken_{0};  ///< released when the training loop has left
    std::thread thread_;
};

}  // namespace curtail::train
