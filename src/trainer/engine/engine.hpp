// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <functional>

#include "base/core/units.hpp"
#include "protocol/records/ranges.hpp"
#include "run/config/run.hpp"
#include "trainer/comm/collectives.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/engine/batch_feed.hpp"
#include "trainer/engine/phase_timer.hpp"
#include "trainer/engine/shapes_seen.hpp"
#include "trainer/engine/shard_exchange.hpp"
#include "trainer/engine/without_exceptions.hpp"
#include "trainer/model/gpt.hpp"
#include "trainer/model/optim/optimizer.hpp"

namespace curtail::trainer {

/// A step that all ranks have begun.
struct BegunStep {
    /// The blocks that the step uses: those it was given, or the first of them, or none, if a rank
    /// was asked to stop meanwhile. If empty, there is no step.
    protocol::Ranges blocks;
    bool stop_requested{};  ///< at least one rank was asked to stop
};

/// The outcome of one optimizer step, over all ranks of the site.
struct StepOutcome {
    protocol::Ranges blocks{};      ///< as in BegunStep
    optim::RunProgress progress{};  ///< as given to Engine::step()
    double loss{};                  ///< nats per token, mean over these blocks
    /// Whether the loss and all gradients are finite. If not, the step is skipped: weights and
    /// optimizer are unchanged.
    bool finite{};
    Tokens tokens{};               ///< number of tokens in these blocks
    FractionalSeconds duration{};  ///< includes the pause of SiteRanks::step()
    double lr_factor{};            ///< factor of all learning rates in this step
    double gradient_norm{};        ///< of the gradients of the mean loss
    double update_norm{};          ///< of the change of the weights; 0 if skipped
    /// Energy in joules over all ranks, between the last two times when the host enqueued an
    /// update. Empty if a meter could not be read.
    std::optional<double> energy_j{};
    struct End {
        Time time;
        MonoTime monotonic;
    };
    std::optional<End> ended{};         ///< when the host noticed the end; always set in an outcome
    std::int64_t device_rows{};         ///< the most rows that a rank computed at once
    std::optional<Bytes> gpu_memory{};  ///< the most of this rank's GPU so far; empty on a CPU
    /// Numbers of rows of micro-batches that this rank computed for the first time. Empty for the
    /// engine's first step.
    std::vector<std::int64_t> new_shapes{};
    runlog::StepPhases phases{};  ///< of this rank
};

/// Returns the type in which a rank on `device` computes.
[[nodiscard]] at::ScalarType type_of(config::TrainingSettings const& training, c10::Device device);

/// How a rank uses its device.
struct EngineOptions {
    c10::Device device{at::kCPU};
    /// Number of steps whose outcome the host need not know before it begins the next one. With 1,
    /// the host enqueues a step while a GPU still computes the one before it.
    std::size_t unknown_outcomes{0};
    /// The most rows that a rank computes at once; 0: as the run file says. The same on all ranks.
    std::int64_t device_rows{0};
    /// Whether the first step begins with an update that changes nothing. If it does not fit into
    /// memory, all ranks halve their micro-batches.
    bool try_update{false};
    /// Whether a stop request drops the step that it interrupts, instead of shortening it. Training
    /// that later continues then makes the steps that it would have made without the interruption.
    bool whole_steps_only{false};
    /// What the model computes with. If empty, model::kernels_for() the weights.
    std::optional<model::Operators> operators{};
    /// Returns the energy in joules that this rank's meters have counted since the last call. May
    /// be empty.
    std::function<std::optional<double>()> take_energy_j{};
};

/// One rank's part in the training of a site. The model computes in the type that the run file
/// names (`training.precision`); the masters are float32. Each rank has all weights and computes
/// its share of each batch's rows (trainer/data/loader.hpp). Each rank updates its own ranges of
/// the weights and has the inner optimizer's state for them (trainer/engine/shard_exchange.hpp).
/// All ranks hold the same weights and must call the same functions in the same order. `run`,
/// `loader` and `collectives` must outlive the engine.
///
/// A step may return before the device has done it. finish_steps() waits for that. Call it before
/// the host reads or replaces the weights, the masters or the optimizer's state.
class Engine {
  public:
    /// `weights` are float32 and may be on another device.
    Engine(config::Run const& run, data::Loader& loader, comm::Collectives& collectives,
           model::Parameters weights, EngineOptions options = {});

    /// Makes one optimizer step on all rows of `blocks`. `progress` determines the scheduled rates
    /// (trainer/model/optim/schedule.hpp). A step with fewer blocks than blocks_per_step()
    /// multiplies the learning rates by its share of the blocks. The gradients are those of the
    /// mean loss over the whole batch, for any number of ranks. See take_outcome() for the result.
    ///
    /// `stop_here` says whether this rank was asked to stop. It is called before each micro-batch
    /// that begins a block (trainer/engine/micro_batches.hpp), when the device is ready for it, and
    /// after the last one. If it returns true on any rank, the step ends with the blocks before;
    /// see also EngineOptions::whole_steps_only.
    ///
    /// If a rank has not enough memory for a micro-batch, all ranks halve their micro-batches, from
    /// this step on. See also EngineOptions::try_update. If that does not help, or if a rank cannot
    /// read its data, all ranks return its error and leave the weights unchanged. If the loss or a
    /// gradient is not finite, all ranks leave the weights and the optimizer's state unchanged.
    [[nodiscard]] Result<BegunStep> step(protocol::Ranges const& blocks,
                                         optim::RunProgress progress,
                                         std::function<bool()> const& stop_here);
    /// Returns the outcome of the earliest step that this function has not yet returned. Returns an
    /// empty optional if it is not known (EngineOptions::unknown_outcomes).
    [[nodiscard]] std::optional<StepOutcome> take_outcome();
    /// Waits until all steps are done. Their outcomes are then known.
    void finish_steps();

    /// On a GPU, frees the activations of the last pass, which the next one needs again. Call it
    /// after finish_steps(), before work that needs memory of its own.
    void free_activations();

    [[nodiscard]] model::Parameters& weights() { return gpt_.weights(); }
    /// Must be called on every rank after its weights() were replaced. If they are not float32, the
    /// masters then lack the digits that the weights lack.
    void weights_replaced() { exchange_.load(gpt_.weights()); }
    [[nodiscard]] ShardExchange& exchange() { return exchange_; }
    /// Must be called on every rank after its masters were replaced: all ranks get the weights.
    void masters_replaced();
    [[nodiscard]] optim::Optimizer& optimizer() { return optimizer_; }
    /// Measures the steps of this rank.
    [[nodiscard]] PhaseTimer& timer() { return timer_; }
    /// Returns the masters of this rank's ranges of the weights
    /// (trainer/engine/shard_exchange.hpp), with the names of model::parameter_places().
    [[nodiscard]] std::vector<optim::Optimizer::StatePart> masters() const;
    [[nodiscard]] std::int64_t blocks_per_step() const
    {
        return run_.training.batch_tokens / run_.rounds.block_tokens;
    }
    /// Returns the least duration of a step, with the pause after it.
    [[nodiscard]] FractionalSeconds step_at_least() const { return run_.training.step_at_least; }

  private:
    /// What this rank does next, in the order in which one rank overrules another.
    enum class Next : int { go_on, stop, use_less_memory, fail };
    /// What this rank has computed of a batch.
    struct PartialBatch {
        at::Tensor loss;                          ///< sum over its rows, in nats: double scalar
        std::int64_t blocks{};                    ///< complete blocks, over all ranks
        Next next{Next::go_on};                   ///< of all ranks
        Result<void> status{};                    ///< fails if this rank cannot go on
        std::span<at::Tensor const> gradients{};  ///< of this rank's ranges, over all ranks
    };
    /// A step whose outcome the host does not know.
    struct UnresolvedStep {
        StepOutcome outcome;  ///< what is known
        at::Tensor sums;      ///< in host memory: see sums_of()
        DeviceMark done;      ///< `sums` and the step are complete
        StepTimes times;
    };
    PartialBatch accumulate(std::vector<std::int64_t> const& blocks,
                            std::function<bool()> const& stop_here);
    PartialBatch accumulate_in_memory(std::vector<std::int64_t> const& blocks,
                                      std::function<bool()> const& stop_here);
    void try_update(PartialBatch& mine);
    static void note_failure(tl::expected<void, StepFailure> done, PartialBatch& mine);
    std::optional<data::Batch> read_and_wait(std::vector<std::int64_t> const& blocks,
                                             data::RowRange rows, PartialBatch& mine);
    bool go_on_after(std::int64_t complete, std::function<bool()> const& stop_here,
                     PartialBatch& mine);
    void compute(data::Batch rows, std::int64_t blocks, bool last, PartialBatch& mine);
    [[nodiscard]] model::PassObserver exchange_during_pass(bool last);
    void limit_backlog(std::size_t most);
    void pace();
    void note_ends();
    at::Tensor sums_of(at::Tensor const& loss, std::span<at::Tensor const> gradients);
    at::Tensor over_ranks(at::Tensor const& sums);
    Result<at::Tensor> update(std::span<at::Tensor const> gradients,
                              optim::BudgetProgress budget_progress, double lr_share,
                              at::Tensor const& sums);
    Result<at::Tensor> update_on_all(std::span<at::Tensor const> gradients,
                                     optim::BudgetProgress budget_progress, double lr_share,
                                     at::Tensor const& sums);
    void learn_outcomes(std::size_t unknown);

    config::Run const& run_;
    data::Loader& loader_;
    comm::Collectives& collectives_;
    c10::Device device_;
    std::size_t unknown_outcomes_;
    bool update_tried_;
    bool whole_steps_only_;
    std::function<std::optional<double>()> take_energy_j_;
    ShardExchange exchange_;
    model::Gpt gpt_;
    optim::Optimizer optimizer_;
    PhaseTimer timer_;
    BatchFeed feed_;
    std::int64_t device_rows_;
    ShapesSeen shapes_;
    std::deque<DeviceMark> micro_batches_;  ///< the ends of the last ones
    std::deque<DeviceMark> backlog_;        ///< see limit_backlog()
    std::deque<UnresolvedStep> unknown_;
    std::deque<StepOutcome> outcomes_;
};

}  // namespace curtail::trainer
