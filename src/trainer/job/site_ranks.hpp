// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "trainer/engine/engine.hpp"
#include "trainer/engine/rank_work.hpp"
#include "trainer/job/rank_snapshots.hpp"
#include "trainer/job/stop_signal.hpp"

namespace curtail::trainer {

/// The ranks of a site. Rank 0 is the leader and decides; the other ranks are followers. The
/// leader's functions send commands, which every follower carries out inside follow(). The
/// constructor's arguments must outlive the object.
class SiteRanks {
  public:
    SiteRanks(Engine& engine, comm::Collectives& collectives, StopSignal const& stop,
              SnapshotFiles snapshots)
        : engine_(engine),
          collectives_(collectives),
          stop_(stop),
          work_(engine, collectives),
          snapshots_(engine, std::move(snapshots))
    {
    }
    [[nodiscard]] bool is_leader() const { return collectives_.rank() == 0; }
    [[nodiscard]] int size() const { return collectives_.size(); }  ///< number of ranks
    [[nodiscard]] Engine& engine() { return engine_; }
    [[nodiscard]] StopSignal const& stop() const { return stop_; }

    // ---- for the leader; all but barrier() may return while followers are still busy
    /// Makes one step on all ranks (see Engine::step). If the run sets Engine::step_at_least(),
    /// waits for the end of the step and for the rest of this time. The pause ends within 20 ms of
    /// a stop request to the leader. The followers wait for the next command meanwhile, and the
    /// leader calls heartbeat().
    [[nodiscard]] Result<BegunStep> step(protocol::Ranges const& blocks,
                                         optim::RunProgress progress);
    /// As Engine::take_outcome(). The duration includes the pause.
    [[nodiscard]] std::optional<StepOutcome> take_outcome();
    // These operations are those of RankWork, on all ranks.
    void load(std::span<float const> theta);
    [[nodiscard]] CutValues cut(Seq seq, bool with_anchor);
    void adopt(std::span<float const> theta, std::vector<Seq> const& dropped, bool worked);
    void forget(std::vector<Seq> const& seqs);
    void discard();
    /// Begins to save the snapshot with the number `serial` on all ranks. The ranks go on while
    /// they write it.
    void begin_snapshot(snapshot::Metadata const& metadata, std::int64_t serial);
    /// Returns the result of the snapshot if all ranks have finished it within `limit`. It is a
    /// failure if that of a rank is. Returns an empty optional if a rank is still writing.
    [[nodiscard]] std::optional<Result<void>> snapshot_result(Millis limit);
    /// Replaces the optimizer's state on all ranks by that of a snapshot, and also the weights if
    /// the snapshots have them. If it fails on a rank, resets the optimizer on all ranks and fails.
    [[nodiscard]] Result<void> restore_snapshot(std::int64_t serial);
    void barrier();  ///< waits until no follower is busy
    /// Sends the followers a command to do nothing, at most once per second. A follower gives up
    /// when the leader sends nothing for a long time (comm::Patience). The leader must therefore
    /// call this while it waits for something else than the followers. It also notices here if a
    /// follower hangs.
    void heartbeat();
    void dismiss();  ///< makes follow() return on every follower

    // ---- for the followers
    void follow();  ///< returns after dismiss()

  private:
    enum class CommandType : std::int64_t {
        step,
        load,
        cut,
        adopt,
        forget,
        discard,
        begin_snapshot,
        snapshot_result,
        restore,
        barrier,
        heartbeat,
        dismiss
    };
    struct Command {
        CommandType type;
        std::int64_t number;  ///< for `step`: number of ranges of blocks; for `cut`: its number;
                              ///< for `adopt` and `forget`: number of dropped cuts; for
                              ///< `begin_snapshot` and `restore`: number of the snapshot; for
                              ///< `snapshot_result`: limit in milliseconds
        optim::RunProgress progress{};  ///< for `step`
        bool flag{};  ///< for `adopt`: there was work since the last cut; for `cut`:
                      ///< with the anchor
    };
    void send(Command command);
    void carry_out(Command command);
    void pause(std::chrono::steady_clock::time_point began);
    Result<BegunStep> step_on_all(std::vector<protocol::BlockRange> ranges,
                                  optim::RunProgress progress);
    [[nodiscard]] std::vector<Seq> same_on_all(std::vector<Seq> seqs);

    Engine& engine_;
    comm::Collectives& collectives_;
    StopSignal const& stop_;
    RankWork work_;
    RankSnapshots snapshots_;
    std::optional<FractionalSeconds> paced_;  ///< duration of the last step with its pause
    MonoTime last_command_{};                 ///< when the leader sent the last command
};

}  // namespace curtail::trainer
