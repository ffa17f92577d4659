// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/member_loop.hpp"

#include "base/core/clock.hpp"
#include "trainer/job/step_record.hpp"

namespace curtail::trainer {
namespace {

constexpr Millis idle_wait{20};

}  // namespace

MemberLoop::MemberLoop(SiteRanks& ranks, LeaderContext const& context, RoundThread& thread,
                       SnapshotGate& gate)
    : ranks_(ranks),
      context_(context),
      thread_(thread),
      position_(context.start),
      training_id_(context.training_id),
      snapshots_(ranks, context, &gate)
{
}

protocol::Exit MemberLoop::run()
{
    for (;;) {
        ranks_.heartbeat();
        snapshots_.poll();
        forward_stop_request();
        bool const has_work = !stop_deadline_ && !queue_.next(1).empty();
        auto order =
            has_work ? thread_.try_order() : thread_.order_until(monotonic_now() + idle_wait);
        if (!order) {
            // After a stop request no further step begins: the window is closed.
            if (!stop_deadline_) train_step();
            else finish_steps();
            continue;
        }
        finish_steps();
        if (auto* exit = std::get_if<protocol::Exit>(&*order)) return with_failure(*exit);
        std::visit([this](auto const& what) { carry_out(what); }, *order);
    }
}

void MemberLoop::begin_snapshot(protocol::Rate rate)
{
    finish_steps();
    position_.rate = rate;
    snapshots_.begin(position_, training_id_);
}

void MemberLoop::finish_snapshots(protocol::Rate rate)
{
    if (auto done = snapshots_.finish(); !done) snapshots_.report(done.error());
    // The id may have come after the order to exit.
    while (auto const order = thread_.try_order())
        if (auto const* training = std::get_if<IdentifyTraining>(&*order)) carry_out(*training);
    begin_snapshot(rate);
    if (auto done = snapshots_.finish(); !done) snapshots_.report(done.error());
}

void MemberLoop::forward_stop_request()
{
    context_.permission.check();
    if (failure_) ranks_.stop().request(StopCause::failure);
    auto const begin =
        stop_deadline(ranks_.stop(), context_.stop_times, StopPoint::transfers_begin);
    auto const end = stop_deadline(ranks_.stop(), context_.stop_times, StopPoint::round_ends);
    if (!begin || !end || end == stop_deadline_) return;
    auto const ended = context_.permission.ended();
    if (!stop_deadline_ && !failure_)
        context_.recorder.event(
            runlog::StopRequested{to_text(ranks_.stop().cause()), ended ? ended->why : ""});
    bool const is_first = !stop_deadline_;
    stop_deadline_ = end;
    thread_.post(protocol::StopRequested{*begin, *end});
    if (!is_first) return;
    finish_steps();  // the step that still runs is training
    context_.recorder.state(energy::PowerState::draining);
}

void MemberLoop::train_step()
{
    if (queue_.paused()) return finish_steps();
    auto const blocks = queue_.next(ranks_.engine().blocks_per_step());
    if (blocks.empty()) {
        finish_steps();
        return set_state(energy::PowerState::idle);
    }
    context_.start_timer.end_once("wait");
    // No step starts after the end of the permission.
    context_.permission.check();
    if (ranks_.stop().raised()) return;
    set_state(energy::PowerState::training);
    auto const own = queue_.since_cut() * context_.run.rounds.block_tokens;
    auto const begun = ranks_.step(blocks, {queue_.tokens_before() + own, queue_.end()});
    if (!begun) return give_up(begun.error());
    if (begun->stop_requested) ranks_.stop().request(StopCause::other_rank);
    queue_.begin_step(begun->blocks);
    record_outcomes();
    auto const every = context_.run.training.snapshot_every_steps;
    if (every == 0 || steps_here_ / every == periodic_snapshots_) return;
    periodic_snapshots_ = steps_here_ / every;
    finish_steps();
    set_state(energy::PowerState::idle);  // no step runs while the ranks copy their values
    begin_snapshot(thread_.rate());
}

void MemberLoop::finish_steps()
{
    ranks_.engine().finish_steps();
    record_outcomes();
}

void MemberLoop::record_outcomes()
{
    while (auto const outcome = ranks_.take_outcome()) {
        position_.tokens += trained_tokens(*outcome);
        ++position_.steps;
        ++steps_here_;
        snapshots_.step();
        record_step(*outcome, {steps_here_, round_}, ranks_.size(), context_);
        if (outcome->finite) thread_.post(protocol::Stepped{outcome->blocks, outcome->duration});
        else skip(outcome->blocks);
    }
}

void MemberLoop::skip(protocol::Ranges const& blocks)
{
    context_.log.warning("skipped step " + std::to_string(steps_here_) + " on blocks " +
                         blocks.to_string() + ": its loss or a gradient is not finite");
    context_.recorder.event(runlog::StepSkipped{steps_here_, blocks.to_json()});
    queue_.skip_step(blocks);
    thread_.post(protocol::Skipped{blocks});
}

// Unreadable data ends the training. The site still contributes what it learned before.
void MemberLoop::give_up(Error const& error)
{
    context_.log.error(error.message() + "; contributing the work done so far and leaving the run");
    failure_ = error;
    queue_.pause();
}

// The first cause ends the process. Work may be lost besides.
protocol::Exit MemberLoop::with_failure(protocol::Exit const& exit) const
{
    if (!failure_) return exit;
    if (exit.error) context_.log.error(exit.error->message());
    return {failure_->code, failure_};
}

void MemberLoop::carry_out(WithModel<protocol::LoadModel> const& load)
{
    round_ = load.model.round.value;
    queue_.pause_without_work();
    ranks_.load(*load.theta);
    thread_.post(protocol::Loaded{load.op});
}

void MemberLoop::carry_out(protocol::Cut const& cut)
{
    queue_.pause_without_work();
    set_state(energy::PowerState::exchange);
    auto values = ranks_.cut(cut.seq, cut.with_model);
    if (values.sums.nonfinite > 0)
        context_.log.warning(
            "the weights are not finite: discarding the work since the last contribution and "
            "resetting the optimizer");
    // The background thread uploads the contribution while the ranks copy and write the snapshot.
    snapshots_.announce();
    thread_.post(CutResult{cut.op, cut.seq, std::move(values)});
    begin_snapshot(thread_.rate());
}

void MemberLoop::carry_out(WithModel<protocol::Adopt> const& adopt)
{
    round_ = adopt.model.round.value;
    queue_.pause();
    if (adopt.theta) {
        set_state(energy::PowerState::exchange);
        ranks_.adopt(*adopt.theta, adopt.dropped, queue_.since_cut() > 0);
    } else {
        ranks_.forget(adopt.dropped);
    }
    thread_.post(protocol::Adopted{adopt.op});
}

void MemberLoop::carry_out(protocol::Train const& train)
{
    if (!failure_) queue_.order(train);
}

void MemberLoop::carry_out(protocol::Discard const&)
{
    queue_.pause_without_work();
    ranks_.discard();
    set_state(energy::PowerState::idle);
}

// After a stop request, a site that is not training is `draining`.
void MemberLoop::set_state(energy::PowerState state)
{
    bool const drains = stop_deadline_ && state != energy::PowerState::training;
    context_.recorder.state(drains ? energy::PowerState::draining : state);
}

}  // namespace curtail::trainer
