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

/// What one optimizer step was.
struct StepOutcome {
    double loss{};  ///< nats per token, mean over the whole batch; not finite: nothing was learned,
                    ///< see Engine::step
    Tokens tokens{};
    FractionalSeconds duration{};
    double lr_factor{};
    bool stop_seen{};  ///< some rank was asked to stop
};

/// One rank's share of a site's training: model, inner optimizer, its rows of each global batch.
/// All ranks hold the same weights and call the same functions in the same order.
class Engine {
  public:
    Engine(config::Run const& run, data::Loader& loader, comm::Collectives& collectives,
           model::Parameters weights);

    /// One step on all rows of `blocks` of the stream, at `progress` tokens of the schedules.
    /// Gradients are those of the mean loss over the whole batch, whatever the number of ranks.
    /// `stop_here`: this rank was asked to stop. If a rank cannot read its data, all ranks answer
    /// that rank's error and no step was made. If the loss is not finite, no step was made either
    /// and the optimizer begins anew, on all ranks; the weights are as they were, and since they
    /// may be the cause, the caller must not go on from them.
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
