// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm/collectives.hpp"
#include "config/run.hpp"
#include "core/units.hpp"
#include "data/loader.hpp"
#include "model/gpt.hpp"
#include "optim/optimizer.hpp"
#include "rounds/ranges.hpp"

namespace curtail::train {

/// The outcome of one optimizer step.
struct StepOutcome {
    double loss{};  ///< nats per token, mean over the whole batch; if not finite, nothing was
                    ///< learned (see Engine::step)
    Tokens tokens{};
    FractionalSeconds duration{};
    double lr_factor{};
    bool stop_seen{};  ///< a rank was asked to stop
};

/// One rank's share of a site's training: model, inner optimizer, and its rows of each global
/// batch. All ranks hold the same weights and call the same functions in the same order.
class Engine {
  public:
    Engine(config::Run const& run, data::Loader& loader, comm::Collectives& collectives,
           model::Parameters weights);

    /// Makes one step on all rows of `blocks`, with the schedules at `progress` tokens. Gradients
    /// are those of the mean loss over the whole batch, for any number of ranks. `stop_here` says
    /// that this rank was asked to stop.
    ///
    /// If a rank cannot read its data, all ranks return its error and make no step. If the loss is
    /// not finite, all ranks leave the weights unchanged and reset the optimizer. The weights may
    /// be the cause, so the caller must not continue from them.
    [[nodiscard]] Result<StepOutcome> step(rounds::Ranges const& blocks, Tokens progress,
                                           bool stop_here);

    [[nodiscard]] model::Parameters& weights() { return gpt_.weights(); }
    [[nodiscard]] optim::Optimizer& optimizer() { return optimizer_; }
    [[nodiscard]] std::int64_t blocks_per_step() const
    {
        return run_.training.batch_tokens / run_.rounds.block_tokens;
    }

  private:
    Result<model::LossSum> accumulate(std::vector<BlockIndex> const& blocks);

    config::Run const& run_;
    data::Loader& loader_;
    comm::Collectives& collectives_;
    model::Gpt gpt_;
    optim::Optimizer optimizer_;
};

}  // namespace curtail::train
