// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "config/run.hpp"
#include "core/result.hpp"
#include "model/parameters.hpp"
#include "optim/adamw.hpp"
#include "optim/muon.hpp"
#include "optim/schedule.hpp"

namespace curtail::optim {

/// The state of the optimizer, as a snapshot stores it.
struct OptimizerState {
    std::int64_t steps{};  ///< number of steps made with this state; 0 in a new state
    /// Float32 tensors. AdamW has `<parameter>/exp_avg` and `<parameter>/exp_avg_sq`. Muon has
    /// `<parameter>/momentum_buffer` and `<parameter>/second_momentum_buffer`.
    std::vector<model::NamedTensor> tensors;
};

/// The inner optimizer of a site, with scheduled learning rates: Muon for the matrices of the
/// layers, AdamW for all other parameters. Every rank holds the whole state and makes the same
/// steps from the same gradients.
class Optimizer {
  public:
    /// `shape` is that of the model; `batch_tokens` is the number of tokens in one step.
    Optimizer(config::Model const& shape, config::Optimizer settings, Tokens batch_tokens);

    /// Makes one step. `gradients` are those of the mean loss over the batches of all ranks.
    void step(model::Parameters& weights, model::Parameters const& gradients, Progress at);
    /// Returns the scheduled values for a step at the position `at`.
    [[nodiscard]] Rates rates(Progress at) const
    {
        return rates_at(at, shape_, settings_, batch_tokens_);
    }

    /// Returns the state. Its tensors share memory with the optimizer: copy or write them before
    /// the next step.
    [[nodiscard]] OptimizerState state() const;
    /// Replaces the optimizer's state by a copy of the argument. Fails with `data`, and changes
    /// nothing, if the argument has other tensor names or shapes, or a negative number of steps.
    [[nodiscard]] Result<void> restore(OptimizerState const& state);
    /// Sets the state to that of a new optimizer. This is necessary after a step with gradients
    /// that are not finite. Without reset(), the state would never become finite again.
    void reset();

  private:
    /// All matrices of one shape. `members` are their indices in Parameters::named().
    struct MuonGroup {
        std::vector<std::size_t> members;
        Muon muon;
    };
    /// The parameter with index `member` in Parameters::named(), and which of the rates it uses.
    struct AdamWMember {
        std::size_t member;
        double Rates::*rate;
        AdamW adamw;
    };

    config::Model shape_;
    config::Optimizer settings_;
    Tokens batch_tokens_;
    std::int64_t steps_{0};
    std::vector<model::ParameterPlace> places_;
    std::vector<MuonGroup> muon_;
    std::vector<AdamWMember> adamw_;
};

}  // namespace curtail::optim
