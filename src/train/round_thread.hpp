#pragma once
#include <atomic>
#include <memory>
#include <thread>

#include "rounds/site.hpp"
#include "train/mailbox.hpp"
#include "train/round_executor.hpp"

namespace curtail::train {

/// The leader's background thread: drives one rounds::Site against the store while the training loop trains.
class RoundThread {
  public:
    /// `parts.order` is set here. Everything that `parts` refers to must outlive the thread.
    RoundThread(rounds::Site site, RoundExecutor::Parts parts);
    ~RoundThread();
    RoundThread(RoundThread const&) = delete;
    RoundThread& operator=(RoundThread const&) = delete;

    void post(Report report) { reports_.post(std::move(report)); }
    [[nodiscard]] std::unique_ptr<Order> try_order() { return orders_.try_take(); }
    [[nodiscard]] std::unique_ptr<Order> order_until(MonoTime deadline) { return orders_.take_until(deadline); }
    /// Waits for the end and gives the protocol's last state. Call after Leave was taken.
    [[nodiscard]] rounds::Site const& join();

  private:
    void run();
    void run_until_exit();
    void feed(rounds::Input input);

    void publish_status();

    Recorder& recorder_;
    Mailbox<Report> reports_;
    Mailbox<Order> orders_;
    rounds::Site site_;
    RoundExecutor executor_;
    std::atomic<bool> abandoned_{false};
    std::thread thread_;
};

}  // namespace curtail::train
