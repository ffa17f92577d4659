// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/leader_snapshots.hpp"

#include "base/core/clock.hpp"
#include "protocol/records/names.hpp"

namespace curtail::trainer {

LeaderSnapshots::LeaderSnapshots(SiteRanks& ranks, LeaderContext const& context, SnapshotGate* gate)
    : ranks_(ranks), context_(context), gate_(gate), numbers_(context.snapshots)
{
}

void LeaderSnapshots::begin(Position const& position, std::optional<std::string> const& training_id)
{
    if (!writing_ && changed_ && training_id) {
        numbers_.last = numbers_.next();
        ranks_.begin_snapshot({context_.run.run, *training_id, position.tokens, position.steps,
                               position.rate, ranks_.engine().optimizer().steps()},
                              numbers_.last);
        writing_ = true;
        changed_ = false;
    } else if (!writing_ && changed_) {
        report({ExitCode::unavailable, "snapshot not saved",
                "cannot identify this run: " + protocol::commit_name({1}) +
                    " in the store is missing, damaged or not readable",
                "`curtail-store repair` creates it again from a site's copies"});
    }
    set_gate(writing_ ? SnapshotGate::State::writing : SnapshotGate::State::open);
}

void LeaderSnapshots::set_gate(SnapshotGate::State state)
{
    if (gate_ != nullptr) gate_->set(state);
}

void LeaderSnapshots::poll()
{
    constexpr Millis interval{50};
    if (!writing_ || monotonic_now() < next_poll_) return;
    next_poll_ = monotonic_now() + interval;
    auto const result = ranks_.snapshot_result(Millis{0});
    if (!result) return;
    ended(*result);
    if (!*result) report(result->error());
}

Result<void> LeaderSnapshots::finish()
{
    constexpr Millis limit{50};
    while (writing_) {
        if (auto const result = ranks_.snapshot_result(limit)) {
            ended(*result);
            return *result;
        }
        auto const deadline =
            stop_deadline(ranks_.stop(), context_.stop_times, StopPoint::process_ends);
        if (deadline && monotonic_now() >= *deadline)
            return fail(ExitCode::unavailable, "snapshot not saved",
                        "the job must stop before the snapshot is on the disk");
    }
    return {};
}

void LeaderSnapshots::ended(Result<void> const& result)
{
    writing_ = false;
    if (result) {
        numbers_.whole = numbers_.last;
        last_failure_.clear();
    } else {
        changed_ = true;
    }
    set_gate(SnapshotGate::State::open);
}

void LeaderSnapshots::report(Error const& error)
{
    // The same failure may repeat at every cut.
    if (error.message() != last_failure_) context_.log.warning(error.message());
    last_failure_ = error.message();
    context_.recorder.event(runlog::SnapshotFailed{error.message()});
}

}  // namespace curtail::trainer
