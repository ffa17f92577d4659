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

/// The leader's background thread: drives one rounds::Site against the store while the training
/// loop trains.
class RoundThread {
  public:
    /// How long the thread bears a training loop that does not come back, because another rank
    /// hangs or a step does not end.
    struct Patience {
        std::function<std::optional<MonoTime>()>
            stop_asked{};  ///< when this process was asked to leave, if it was; safe from any
                           ///< thread
        Millis grace{};    ///< a launcher's: after it there is no more to wait for
        std::function<void(Error const&)>
            too_late{};  ///< ends the process; empty: the thread waits for ever
    };
    /// `parts.order` is set here. Everything that `parts` refers to must outlive the thread.
    RoundThread(rounds::Site site, RoundExecutor::Parts parts, Patience patience);
    ~RoundThread();
    RoundThread(RoundThread const&) = delete;
    RoundThread& operator=(RoundThread const&) = delete;

    void post(Report report);
    [[nodiscard]] std::unique_ptr<Order> try_order() { return orders_.try_take(); }
    [[nodiscard]] std::unique_ptr<Order> order_until(MonoTime deadline)
    {
        return orders_.take_until(deadline);
    }
    /// The protocol's measure of this site's speed, for the snapshot. Safe from any thread.
    [[nodiscard]] rounds::Rate rate() const { return rate_; }
    /// Gives the protocol's last state. Call after Leave was taken, and soon: until then the thread
    /// counts the time.
    [[nodiscard]] rounds::Site const& join();

  private:
    void run();
    void run_until_exit();
    void wait_until_left();
    [[nodiscard]] bool too_late();
    void feed(rounds::Input input);

    void publish_status();

    Recorder& recorder_;
    Mailbox<Report> reports_;
    Mailbox<Order> orders_;
    rounds::Site site_;
    RoundExecutor executor_;
    std::atomic<rounds::Rate> rate_;
    std::atomic<bool> abandoned_{false};
    Patience patience_;
    std::atomic<Millis> longest_step_{Millis{0}};
    std::optional<Leave> left_;           ///< as it was posted
    std::optional<MonoTime> left_at_;     ///< when
    std::counting_semaphore<> taken_{0};  ///< the training loop has left
    std::thread thread_;
};

}  // namespace curtail::train
