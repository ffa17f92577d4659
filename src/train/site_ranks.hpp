// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "train/engine.hpp"
#include "train/stop_signal.hpp"

namespace curtail::train {

/// The ranks of a site at work together: the leader (rank 0) decides, the others follow. Each call
/// of the leader is one command that every follower carries out inside follow().
class Crew {
  public:
    Crew(Engine& engine, comm::Collectives& collectives, StopSignal const& stop)
        : engine_(engine), collectives_(collectives), stop_(stop)
    {
    }
    [[nodiscard]] bool leads() const { return collectives_.rank() == 0; }
    [[nodiscard]] Engine& engine() { return engine_; }
    [[nodiscard]] StopSignal const& stop() const { return stop_; }

    // ---- leader
    [[nodiscard]] Result<StepOutcome> step(rounds::Ranges const& blocks, Tokens progress);
    void share_weights(std::span<float const> values);  ///< become the weights of every rank
    void share_optimizer(
        optim::OptimizerState const& state);  ///< becomes the optimizer's state of every rank
    void reset_optimizer();                   ///< to that of a new one, on every rank
    void muster();                            ///< back when every rank has answered: none hangs
    void dismiss();                           ///< ends follow() on every rank

    // ---- followers
    void follow();  ///< until dismissed

  private:
    enum class Act : std::int64_t { step, weights, optimizer, reset, muster, dismiss };
    struct Command {
        Act act;
        std::int64_t number;    ///< ranges of a step, steps of an optimizer
        std::int64_t progress;  ///< tokens
    };
    void command(Command c);
    Result<StepOutcome> step_together(std::vector<rounds::BlockRange> ranges, Tokens progress);
    void weights_together();
    void optimizer_together(optim::OptimizerState state);

    Engine& engine_;
    comm::Collectives& collectives_;
    StopSignal const& stop_;
};

}  // namespace curtail::train
