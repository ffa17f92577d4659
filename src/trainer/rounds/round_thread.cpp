// SPDX-License-Identifier: Apache-2.0
#include "trainer/rounds/round_thread.hpp"

#include <algorithm>

namespace curtail::trainer {
namespace {

RoundExecutor::Parts with_orders(RoundExecutor::Parts parts, Mailbox<Order>& orders,
                                 std::optional<protocol::Exit>& posted)
{
    parts.order = [&orders, &posted](Order order) {
        if (auto const* exit = std::get_if<protocol::Exit>(&order)) posted = *exit;
        orders.post(std::move(order));
    };
    return parts;
}

}  // namespace

RoundThread::RoundThread(protocol::Site site, RoundExecutor::Parts parts, Watchdog::Limits watchdog,
                         std::function<Millis()> suspended)
    : recorder_(parts.recorder),
      site_(std::move(site)),
      executor_(with_orders(std::move(parts), orders_, exit_), [this] { events_.wake(); }),
      suspended_(std::move(suspended)),
      rate_(site_.rate()),
      watchdog_(std::move(watchdog)),
      thread_([this] { run(); })
{
}

void RoundThread::post(LoopEvent event)
{
    if (auto const* stepped = std::get_if<protocol::Stepped>(&event))
        watchdog_.stepped(std::chrono::ceil<Millis>(stepped->seconds));
    events_.post(std::move(event));
}

RoundThread::~RoundThread()
{
    abandoned_ = true;
    events_.wake();
    (void)join();
}

protocol::Site const& RoundThread::join()
{
    if (thread_.joinable()) thread_.join();
    watchdog_.disarm();
    // A step may have been running when the protocol decided to exit.
    while (auto const event = events_.try_take())
        if (auto const* step = std::get_if<protocol::Stepped>(event.get()))
            for (auto const& output : site_.on(last_input_, *step)) executor_.carry_out(output);
    return site_;
}

void RoundThread::feed(protocol::Input input)
{
    if (executor_.finished() || abandoned_) return;
    auto const suspended = suspended_();
    if (auto* stop = std::get_if<protocol::StopRequested>(&input)) {
        stopping_ = true;
        stop->begin_until += suspended;
        stop->end += suspended;
    }
    // The difference between the two clocks may be rounded down after it was rounded up.
    last_input_ = std::max(last_input_, monotonic_now() + suspended);
    for (auto const& output : site_.on(last_input_, input)) executor_.carry_out(output);
}

void RoundThread::run()
{
    // The training loop must not wait forever for an order: any exception here ends the process.
    try {
        run_until_exit();
    } catch (std::exception const& broken) {
        exit_ = protocol::Exit{ExitCode::software,
                               Error{ExitCode::software, "the round protocol failed", broken.what(),
                                     "please report this with the site's log"}};
        orders_.post(protocol::Exit(*exit_));
    }
    watchdog_.leaving(exit_ ? exit_->error : std::nullopt);
    // No other site may have a copy of the last model.
    executor_.finish_errands(stopping_ ? Seconds{1} : Seconds{10});
    // Cancelled uploads abort themselves while the loop writes the last snapshot.
    executor_.cancel();
}

void RoundThread::run_until_exit()
{
    feed(protocol::Tick{});
    while (!executor_.finished() && !abandoned_) {
        auto const idle_until = monotonic_now() + Seconds{1};
        auto const site_wakes = site_.wake();
        auto const wake = std::min(site_wakes ? *site_wakes - suspended_() : idle_until,
                                   executor_.next_limit().value_or(idle_until));
        auto const event = events_.take_until(std::min(wake, idle_until));
        if (event) feed(executor_.translate(std::move(*event)));
        for (auto const& answer : executor_.take_answers()) feed(answer);
        if (!event) feed(protocol::Tick{});
        rate_ = site_.rate();
        publish_status();
    }
}

void RoundThread::publish_status()
{
    auto const status = site_.status();
    if (status.member) executor_.set_members(*status.member, status.members);
    if (auto const& tip = site_.tip()) executor_.set_direct_time(tip->terms.params.gather_time);
    recorder_.status({{"state", protocol::to_text(status.state)},
                      {"waiting_for", status.waiting_for},
                      {"member", status.member ? json::Value(status.member->value) : json::Value()},
                      {"commit", status.tip.value},
                      {"round", status.round.value},
                      {"base", status.base.value},
                      {"held", status.held.to_json()},
                      {"since_cut_blocks", status.since.count()},
                      {"skipped_blocks", status.skipped.count()},
                      {"undecided", static_cast<std::int64_t>(status.undecided.size())},
                      {"leaving", status.leaving}});
}

}  // namespace curtail::trainer
