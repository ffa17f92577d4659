// SPDX-License-Identifier: Apache-2.0
#include "train/round_thread.hpp"

#include <algorithm>
#include <deque>

#include "core/clock.hpp"

namespace curtail::train {
namespace {

RoundExecutor::Parts with_orders(RoundExecutor::Parts parts, Mailbox<Order>& orders,
                                 std::optional<Leave>& posted)
{
    parts.order = [&orders, &posted](Order order) {
        if (auto const* leave = std::get_if<Leave>(&order)) posted = *leave;
        orders.post(std::move(order));
    };
    return parts;
}

}  // namespace

RoundThread::RoundThread(rounds::Site site, RoundExecutor::Parts parts, Watchdog watchdog)
    : recorder_(parts.recorder),
      site_(std::move(site)),
      executor_(with_orders(std::move(parts), orders_, leave_)),
      rate_(site_.rate()),
      watchdog_(std::move(watchdog)),
      thread_([this] { run(); })
{
}

void RoundThread::post(LoopEvent event)
{
    if (auto const* stepped = std::get_if<rounds::Stepped>(&event))
        longest_step_ = std::max(longest_step_.load(), std::chrono::ceil<Millis>(stepped->seconds));
    events_.post(std::move(event));
}

RoundThread::~RoundThread()
{
    abandoned_ = true;
    taken_.release();
    if (thread_.joinable()) thread_.join();
}

rounds::Site const& RoundThread::join()
{
    taken_.release();
    if (thread_.joinable()) thread_.join();
    return site_;
}

void RoundThread::feed(rounds::Input input)
{
    // The store's answers may lead to an endless chain of questions, so events of the training loop
    // go first, above all a stop request.
    std::deque<rounds::Input> inbox{std::move(input)};
    while (!inbox.empty() && !executor_.finished() && !abandoned_) {
        auto const next = std::move(inbox.front());
        inbox.pop_front();
        for (auto const& output : site_.on(monotonic_now(), next))
            if (auto answer = executor_.carry_out(output)) inbox.push_back(std::move(*answer));
        if (auto event = events_.try_take())
            inbox.push_front(executor_.translate(std::move(*event)));
    }
}

void RoundThread::run()
{
    // The training loop must not wait forever for an order: any exception here ends the process.
    try {
        run_until_exit();
    } catch (std::exception const& broken) {
        leave_ = Leave{ExitCode::software,
                       Error{ExitCode::software, "the round protocol failed", broken.what(),
                             "please report this with the site's log"}};
        orders_.post(Leave(*leave_));
    }
    leave_time_ = monotonic_now();
    wait_until_left();
}

bool RoundThread::grace_is_over() const
{
    auto const exit_by = watchdog_.exit_by();
    return exit_by && monotonic_now() >= *exit_by;
}

// No launcher waits for a site that leaves on its own, so a long but healthy step gets more time.
bool RoundThread::left_unanswered() const
{
    return leave_time_ &&
           monotonic_now() >= *leave_time_ + std::max(watchdog_.grace, 4 * longest_step_.load());
}

// Ends the process if the training loop is too late; returns true if it did.
bool RoundThread::check_watchdog()
{
    if (!watchdog_.end_process || !(grace_is_over() || left_unanswered())) return false;
    if (leave_ && leave_->error) watchdog_.end_process(*leave_->error);
    else
        watchdog_.end_process({ExitCode::unavailable, "cannot leave in time",
                               "the ranks have not returned from their step; one may hang",
                               "start again to continue from the last commit"});
    return true;
}

void RoundThread::wait_until_left()
{
    constexpr Millis interval{200};
    while (!taken_.try_acquire_for(interval))
        if (abandoned_ || check_watchdog()) return;
}

void RoundThread::run_until_exit()
{
    feed(rounds::Tick{});
    while (!executor_.finished() && !abandoned_) {
        if (check_watchdog()) return;
        auto const idle_until = monotonic_now() + Seconds{1};
        auto event = events_.take_until(std::min(site_.wake().value_or(idle_until), idle_until));
        feed(event ? executor_.translate(std::move(*event)) : rounds::Input(rounds::Tick{}));
        rate_ = site_.rate();
        publish_status();
    }
}

void RoundThread::publish_status()
{
    auto const status = site_.status();
    recorder_.status({{"state", rounds::to_text(status.state)},
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

}  // namespace curtail::train
