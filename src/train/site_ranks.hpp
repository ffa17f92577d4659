// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "train/engine.hpp"
#include "train/stop_signal.hpp"

namespace curtail::train {

/// The ranks of a site. Rank 0 is the leader and decides; the other ranks are followers. The
/// leader's functions send commands, which every follower carries out inside follow(). The
/// constructor's arguments must outlive the object.
class SiteRanks {
  public:
    SiteRanks(Engine& engine, comm::Collectives& collectives, StopSignal const& stop)
        : engine_(engine), collectives_(collectives), stop_(stop)
    {
    }
    [[nodiscard]] bool is_leader() const { return collectives_.rank() == 0; }
    [[nodiscard]] Engine& engine() { return engine_; }
    [[nodiscard]] StopSignal const& stop() const { return stop_; }

    // ---- for the leader; all but barrier() may return while followers are still busy
    /// Makes one step on all ranks (see Engine::step). If the step was shorter than
    /// Engine::step_at_least(), pauses for the rest of this time. The pause ends within 20 ms of a
    /// stop request to the leader. The followers wait for the next command meanwhile, and the
    /// leader calls heartbeat().
    [[nodiscard]] Result<StepOutcome> step(rounds::Ranges const& blocks, Tokens progress);
    /// Replaces the weights on all ranks.
    void broadcast_weights(std::span<float const> values);
    /// Replaces the optimizer's state on all ranks.
    void broadcast_optimizer(optim::OptimizerState const& state);
    /// Returns the optimizer's state for all parameters, of which each rank has a part.
    [[nodiscard]] optim::OptimizerState gather_optimizer();
    void reset_optimizer();  ///< gives all ranks the state of a new optimizer
    void barrier();          ///< waits until no follower is busy
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
        weights,
        optimizer,
        gather,
        reset,
        barrier,
        heartbeat,
        dismiss
    };
    struct Command {
        CommandType type;
        std::int64_t number;  ///< for `step`: number of ranges of blocks; for `optimizer`: number
                              ///< of steps made
        Tokens progress;      ///< for `step`: number of tokens trained before this step
    };
    void send(Command command);
    void carry_out(Command command);
    void pause(StepOutcome& outcome);
    Result<StepOutcome> step_on_all(std::vector<rounds::BlockRange> ranges, Tokens progress);
    void copy_weights();
    void copy_optimizer(optim::OptimizerState state);
    [[nodiscard]] optim::OptimizerState sum_optimizer();

    Engine& engine_;
    comm::Collectives& collectives_;
    StopSignal const& stop_;
    MonoTime last_command_{};  ///< when the leader sent the last command
};

}  // namespace curtail::train
