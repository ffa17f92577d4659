// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "comm/collectives.hpp"
#include "config/run.hpp"
#include "core/units.hpp"
#include "data/loader.hpp"
#include "model/gpt.hpp"
#include "optim/optimizer.hpp"
#include "rounds/ranges.hpp"
#include "train/phase_timer.hpp"
#include "train/shard_exchange.hpp"

namespace curtail::train {

/// The outcome of one optimizer step, over all ranks of the site.
struct StepOutcome {
    /// The blocks that the step used: those it was given, or the first of them if a rank was asked
    /// to stop meanwhile. If empty, there was no step.
    rounds::Ranges blocks;
    double loss{};  ///< nats per token, mean over these blocks
    /// Whether the loss and all gradients are finite. If not, the step is skipped: weights and
    /// optimizer are unchanged.
    bool finite{};
    Tokens tokens{};               ///< number of tokens in these blocks
    FractionalSeconds duration{};  ///< includes the pause of SiteRanks::step()
    double lr_factor{};            ///< factor of all learning rates in this step
    bool stop_requested{};         ///< at least one rank was asked to stop
    double gradient_norm{};        ///< of the gradients of the mean loss
    runlog::StepPhases phases;     ///< of this rank
};

/// One rank's part in the training of a site. The model computes in the type that the run file
/// names (`training.precision`); the masters are float32. Each rank has all weights and computes
/// its share of each batch's rows (data/loader.hpp). Each rank updates its own pieces of the
/// weights and has the inner optimizer's state for them (train/shard_exchange.hpp). All ranks hold
/// the same weights and must call the same functions in the same order. `run`, `loader` and
/// `collectives` must outlive the engine.
class Engine {
  public:
    /// `weights` are float32.
    Engine(config::Run const& run, data::Loader& loader, comm::Collectives& collectives,
           model::Parameters weights);

    /// Makes one optimizer step on all rows of `blocks`. `progress` is the number of tokens that
    /// the weights were trained on before the step. This number determines the scheduled rates
    /// (optim/schedule.hpp). A step with fewer blocks than blocks_per_step() multiplies the
    /// learning rates by its share of the blocks. The gradients are those of the mean loss over the
    /// whole batch, for any number of ranks.
    ///
    /// `stop_here` says whether this rank was asked to stop. It is called between micro-batches
    /// (train/micro_batches.hpp). If it returns true on any rank, the step ends with the blocks
    /// that are complete.
    ///
    /// If a rank cannot read its data or has no memory left, all ranks return its error and leave
    /// the weights unchanged. If the loss or a gradient is not finite, all ranks leave the weights
    /// and the optimizer's state unchanged.
    [[nodiscard]] Result<StepOutcome> step(rounds::Ranges const& blocks, Tokens progress,
                                           std::function<bool()> const& stop_here);

    [[nodiscard]] model::Parameters& weights() { return gpt_.weights(); }
    /// Must be called on every rank after its weights() were replaced. If they are not float32, the
    /// masters then lack the digits that the weights lack.
    void weights_replaced() { exchange_.load(gpt_.weights()); }
    [[nodiscard]] ShardExchange& exchange() { return exchange_; }
    /// Must be called on every rank after its masters were replaced: all ranks get the weights.
    void masters_replaced() { exchange_.distribute(gpt_.weights()); }
    [[nodiscard]] optim::Optimizer& optimizer() { return optimizer_; }
    /// Measures the steps of this rank.
    [[nodiscard]] PhaseTimer& timer() { return timer_; }
    /// Returns the masters of this rank's pieces (train/shard_exchange.hpp), as ranges of tensors
    /// with the names of model::parameter_places().
    [[nodiscard]] std::vector<optim::Optimizer::StatePart> masters() const;
    [[nodiscard]] std::int64_t blocks_per_step() const
    {
        return run_.training.batch_tokens / run_.rounds.block_tokens;
    }
    /// Returns the least duration of a step, with the pause after it.
    [[nodiscard]] FractionalSeconds step_at_least() const { return run_.training.step_at_least; }

  private:
    /// What this rank has computed of a batch.
    struct Accumulated {
        Result<model::LossSum> loss;
        std::int64_t blocks{};  ///< complete blocks, over all ranks
        bool stop{};            ///< this rank was asked to stop
    };
    Accumulated accumulate(std::vector<std::int64_t> const& blocks,
                           std::function<bool()> const& stop_here);
    Result<model::LossSum> accumulate_rows(std::vector<std::int64_t> const& blocks,
                                           data::RowRange rows);
    /// Returns the error of the rank that failed.
    tl::unexpected<Error> all_fail(Result<void> const& mine);
    Result<void> update(std::span<at::Tensor const> gradients, optim::Progress at, double lr_share);

    config::Run const& run_;
    data::Loader& loader_;
    comm::Collectives& collectives_;
    ShardExchange exchange_;
    model::Gpt gpt_;
    optim::Optimizer optimizer_;
    PhaseTimer timer_;
};

}  // namespace curtail::train
