// SPDX-License-Identifier: Apache-2.0
#include "train/round_thread.hpp"

#include <algorithm>
#include <deque>

#include "core/clock.hpp"

namespace curtail::train {
namespace {

RoundExecutor::Parts with_orders(RoundExecutor::Parts parts, Mailbox<Order>& orders,
                                 std::optional<Leave>& left)
{
    parts.order = [&orders, &left](Order order) {
        if (auto const* leave = std::get_if<Leave>(&order)) left = *leave;
        orders.post(std::move(order));
    };
    return parts;
}

}  // namespace

RoundThread::RoundThread(rounds::Site site, RoundExecutor::Parts parts, Patience patience)
    : recorder_(parts.recorder),
      site_(std::move(site)),
      executor_(with_orders(std::move(parts), orders_, left_)),
      rate_(site_.rate()),
      patience_(std::move(patience)),
      thread_([this] { run(); })
{
}

void RoundThread::post(Report report)
{
    if (auto const* stepped = std::get_if<rounds::Stepped>(&report))
        longest_step_ = std::max(longest_step_.load(), std::chrono::ceil<Millis>(stepped->seconds));
    reports_.post(std::move(report));
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
    // The store answers at once, and an answer may lead to the next question: whatever the trainer
    // says goes first, above all to stop.
    std::deque<rounds::Input> inbox{std::move(input)};
    while (!inbox.empty() && !executor_.finished() && !abandoned_) {
        auto const next = std::move(inbox.front());
        inbox.pop_front();
        for (auto const& output : site_.on(mono_now(), next))
            if (auto answer = executor_.carry_out(output)) inbox.push_back(std::move(*answer));
        if (auto report = reports_.try_take())
            inbox.push_front(executor_.translate(std::move(*report)));
    }
}

void RoundThread::run()
{
    // Nothing may wait for ever for an answer that nobody will give: whatever breaks here ends the
    // process.
    try {
        run_until_exit();
    } catch (std::exception const& broken) {
        left_ = Leave{ExitCode::software,
                      Error{ExitCode::software, "the round protocol broke off", broken.what(),
                            "please report this with the site's log"}};
        orders_.post(Leave(*left_));
    }
    left_at_ = mono_now();
    wait_until_left();
}

bool RoundThread::too_late()
{
    if (!patience_.too_late) return false;
    auto const now = mono_now();
    auto const asked = patience_.stop_asked();
    // The protocol has four fifths of the grace; what is left goes to the step in progress and the
    // snapshot.
    bool const drained = asked && now >= *asked + patience_.grace * 9 / 10;
    // Nobody waits for a site that leaves by itself: a step may be long and healthy.
    bool const deserted =
        left_at_ && now >= *left_at_ + std::max(patience_.grace, 4 * longest_step_.load());
    if (!drained && !deserted) return false;
    if (left_ && left_->error) patience_.too_late(*left_->error);
    else
        patience_.too_late({ExitCode::unavailable, "cannot leave in time",
                            "the ranks have not come back from their step; one may hang",
                            "another start goes on from the last commit"});
    return true;
}

void RoundThread::wait_until_left()
{
    constexpr Millis look{200};
    while (!taken_.try_acquire_for(look))
        if (abandoned_ || too_late()) return;
}

void RoundThread::run_until_exit()
{
    feed(rounds::Tick{});
    while (!executor_.finished() && !abandoned_) {
        if (too_late()) return;
        auto const idle_until = mono_now() + Seconds{1};
        auto report = reports_.take_until(std::min(site_.wake().value_or(idle_until), idle_until));
        feed(report ? executor_.translate(std::move(*report)) : rounds::Input(rounds::Tick{}));
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
                      {"undecided", static_cast<std::int64_t>(status.undecided.size())},
                      {"leaving", status.leaving}});
}

}  // namespace curtail::train
