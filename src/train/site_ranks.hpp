// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "train/engine.hpp"
#include "train/stop_signal.hpp"

namespace curtail::train {

/// The ranks of a site. The leader (rank 0) decides, the others follow: each call of the leader is
/// a command that every follower carries out inside follow().
class SiteRanks {
  public:
    SiteRanks(Engine& engine, comm::Collectives& collectives, StopSignal const& stop)
        : engine_(engine), collectives_(collectives), stop_(stop)
    {
    }
    [[nodiscard]] bool is_leader() const { return collectives_.rank() == 0; }
    [[nodiscard]] Engine& engine() { return engine_; }
    [[nodiscard]] StopSignal const& stop() const { return stop_; }

    // ---- leader; each returns when all ranks are done
    [[nodiscard]] Result<StepOutcome> step(rounds::Ranges const& blocks, Tokens progress);
    void broadcast_weights(std::span<float const> values);
    void broadcast_optimizer(optim::OptimizerState const& state);
    void reset_optimizer();  ///< to the state of a new one
    void barrier();          ///< blocks if a rank hangs
    void dismiss();          ///< ends follow() on every follower

    // ---- followers
    void follow();  ///< returns when dismissed

  private:
    enum class CommandType : std::int64_t { step, weights, optimizer, reset, barrier, dismiss };
    struct Command {
        CommandType type;
        std::int64_t number;    ///< ranges of a step, steps of an optimizer
        std::int64_t progress;  ///< tokens
    };
    void send(Command command);
    void carry_out(Command command);
    Result<StepOutcome> step_on_all(std::vector<rounds::BlockRange> ranges, Tokens progress);
    void copy_weights();
    void copy_optimizer(optim::OptimizerState state);

    Engine& engine_;
    comm::Collectives& collectives_;
    StopSignal const& stop_;
};

}  // namespace curtail::train
