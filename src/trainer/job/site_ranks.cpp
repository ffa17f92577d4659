// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/site_ranks.hpp"

#include <algorithm>
#include <thread>

#include "base/core/clock.hpp"
#include "trainer/engine/fail_together.hpp"

namespace curtail::trainer {

// Followers call the leader's functions to carry out a command, which they have received.
void SiteRanks::send(Command command)
{
    if (!is_leader()) return;
    collectives_.broadcast(std::as_writable_bytes(std::span(&command, 1)), 0);
    last_command_ = monotonic_now();
}

void SiteRanks::heartbeat()
{
    if (monotonic_now() - last_command_ >= Seconds{1}) send({CommandType::heartbeat, 0});
}

Result<BegunStep> SiteRanks::step(protocol::Ranges const& blocks, optim::RunProgress progress)
{
    auto const began = std::chrono::steady_clock::now();
    send({CommandType::step, static_cast<std::int64_t>(blocks.list().size()), progress});
    auto made = step_on_all(blocks.list(), progress);
    paced_.reset();
    if (made && !made->stop_requested && engine_.step_at_least().count() > 0) pause(began);
    return made;
}

void SiteRanks::pause(std::chrono::steady_clock::time_point began)
{
    constexpr FractionalSeconds longest_nap{0.02};  // the delay of a stop request
    engine_.finish_steps();
    for (;;) {
        paced_ = std::chrono::steady_clock::now() - began;
        auto const left = engine_.step_at_least() - *paced_;
        if (left.count() <= 0 || stop_.raised()) return;
        std::this_thread::sleep_for(std::min(left, longest_nap));
        heartbeat();
    }
}

std::optional<StepOutcome> SiteRanks::take_outcome()
{
    auto outcome = engine_.take_outcome();
    if (outcome && paced_) {
        outcome->duration = *paced_;
        outcome->ended = {SystemClock{}.now(), monotonic_now()};
    }
    return outcome;
}

Result<BegunStep> SiteRanks::step_on_all(std::vector<protocol::BlockRange> ranges,
                                         optim::RunProgress progress)
{
    collectives_.broadcast(std::as_writable_bytes(std::span(ranges)), 0);
    protocol::Ranges blocks;
    for (auto const& range : ranges) blocks += protocol::Ranges{range};
    return engine_.step(blocks, progress, [this] { return stop_.raised(); });
}

void SiteRanks::load(std::span<float const> theta)
{
    send({CommandType::load, 0});
    work_.load(theta);
}

CutValues SiteRanks::cut(Seq seq, bool with_anchor)
{
    send({CommandType::cut, seq.value, {}, with_anchor});
    return work_.cut(seq, with_anchor);
}

void SiteRanks::adopt(std::span<float const> theta, std::vector<Seq> const& dropped, bool worked)
{
    send({CommandType::adopt, std::ssize(dropped), {}, worked});
    work_.adopt(theta, same_on_all(dropped), worked);
}

void SiteRanks::forget(std::vector<Seq> const& seqs)
{
    send({CommandType::forget, std::ssize(seqs)});
    work_.forget(same_on_all(seqs));
}

void SiteRanks::discard()
{
    send({CommandType::discard, 0});
    work_.discard();
}

// The leader's numbers; the other ranks know how many there are.
std::vector<Seq> SiteRanks::same_on_all(std::vector<Seq> seqs)
{
    collectives_.broadcast(std::as_writable_bytes(std::span(seqs)), 0);
    return seqs;
}

void SiteRanks::begin_snapshot(snapshot::Metadata const& metadata, std::int64_t serial)
{
    send({CommandType::begin_snapshot, serial});
    // The header's text form carries the metadata to all ranks.
    auto const text =
        comm::broadcast_text(collectives_, encode(snapshot::RankHeader{.metadata = metadata}), 0);
    auto const received = snapshot::decode(text).value().value();
    snapshots_.begin(received.metadata, {serial, collectives_.rank(), collectives_.size()});
}

std::optional<Result<void>> SiteRanks::snapshot_result(Millis limit)
{
    send({CommandType::snapshot_result, limit.count()});
    auto const mine = snapshots_.result(limit);
    if (collectives_.all_reduce_max(mine ? 0 : 1) > 0) return std::nullopt;
    return fail_together(collectives_, *mine);
}

Result<void> SiteRanks::restore_snapshot(std::int64_t serial)
{
    send({CommandType::restore, serial});
    auto all = fail_together(collectives_, snapshots_.restore(serial));
    if (!all) {
        engine_.optimizer().reset();
        if (snapshots_.with_weights()) engine_.weights_replaced();
    } else if (snapshots_.with_weights()) engine_.masters_replaced();
    return all;
}

void SiteRanks::barrier()
{
    send({CommandType::barrier, 0});
    collectives_.barrier();
}

void SiteRanks::dismiss() { send({CommandType::dismiss, 0}); }

void SiteRanks::follow()
{
    Command command{};
    do {
        collectives_.broadcast(std::as_writable_bytes(std::span(&command, 1)), 0);
        carry_out(command);
    } while (command.type != CommandType::dismiss);
}

void SiteRanks::carry_out(Command command)
{
    auto const count = static_cast<std::size_t>(command.number);
    switch (command.type) {
        case CommandType::step:  // the leader handles a failure
            (void)step_on_all(std::vector<protocol::BlockRange>(count), command.progress);
            while (engine_.take_outcome()) {}
            return;
        case CommandType::load:
            return load({});
        case CommandType::cut:
            return (void)cut(Seq{command.number}, command.flag);
        case CommandType::adopt:
            return adopt({}, std::vector<Seq>(count), command.flag);
        case CommandType::forget:
            return forget(std::vector<Seq>(count));
        case CommandType::discard:
            return discard();
        case CommandType::begin_snapshot:
            return begin_snapshot({}, command.number);
        case CommandType::snapshot_result:
            return (void)snapshot_result(Millis{command.number});
        case CommandType::restore:
            return (void)restore_snapshot(command.number);
        case CommandType::barrier:
            return barrier();
        default:  // `heartbeat` and `dismiss` need no work
            return;
    }
}

}  // namespace curtail::trainer
