// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "storage/store/object_store.hpp"
#include "trainer/job/leader_context.hpp"
#include "trainer/job/leader_snapshots.hpp"
#include "trainer/job/site_ranks.hpp"
#include "trainer/rounds/block_queue.hpp"
#include "trainer/rounds/round_thread.hpp"

namespace curtail::trainer {

/// The training loop of a site that is a member of a run. Carries out the orders of the round
/// thread and trains the blocks that the site holds. Runs on the leader. The constructor's
/// arguments must outlive the loop.
class MemberLoop {
  public:
    MemberLoop(SiteRanks& ranks, LeaderContext const& context, RoundThread& thread,
               SnapshotGate& gate);

    /// Trains until the protocol orders the site to exit. Returns that order. If an error ended the
    /// training, returns an order with that error instead.
    [[nodiscard]] protocol::Exit run();
    /// Waits for the snapshot that is being written. Then saves one more if this process has made a
    /// step since. `rate` is the site's measured speed. A failure is logged and becomes an event.
    void finish_snapshots(protocol::Rate rate);

  private:
    void forward_stop_request();
    void begin_snapshot(protocol::Rate rate);
    void train_step();
    void finish_steps();
    void record_outcomes();
    void skip(protocol::Ranges const& blocks);
    void give_up(Error const& error);
    [[nodiscard]] protocol::Exit with_failure(protocol::Exit const& exit) const;

    void carry_out(WithModel<protocol::LoadModel> const& load);
    void carry_out(protocol::Cut const& cut);
    void carry_out(WithModel<protocol::Adopt> const& adopt);
    void carry_out(protocol::Train const& train);
    void carry_out(protocol::Discard const&);
    void carry_out(IdentifyTraining const& training) { training_id_ = training.id; }
    void carry_out(protocol::Exit const&) {}

    void set_state(energy::PowerState state);

    SiteRanks& ranks_;
    LeaderContext const& context_;
    RoundThread& thread_;
    BlockQueue queue_;
    Position position_;
    std::optional<std::string> training_id_;
    LeaderSnapshots snapshots_;
    std::int64_t steps_here_{0};          ///< with known outcomes
    std::int64_t periodic_snapshots_{0};  ///< see config::TrainingSettings::snapshot_every_steps
    std::int64_t round_{0};
    std::optional<Error> failure_;
    std::optional<MonoTime> stop_deadline_;  ///< deadline of the last stop request that the loop
                                             ///< has sent to the protocol
};

}  // namespace curtail::trainer
