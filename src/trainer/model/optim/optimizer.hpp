// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "run/config/run.hpp"
#include "trainer/model/optim/adamw.hpp"
#include "trainer/model/optim/muon.hpp"
#include "trainer/model/optim/schedule.hpp"
#include "trainer/model/optim/shards.hpp"
#include "trainer/model/parameters.hpp"

namespace curtail::optim {

/// The inner optimizer of a site, with scheduled learning rates: Muon for the matrices of the
/// layers, AdamW for all other parameters. Each rank has an optimizer for its own ranges of the
/// parameters.
class Optimizer {
  public:
    /// The state for one of the ranges: a part of a float32 tensor of the state, as a snapshot
    /// stores it. For each parameter, AdamW has the tensors `<parameter>/exp_avg` and
    /// `<parameter>/exp_avg_sq`. Muon has `<parameter>/momentum_buffer` and
    /// `<parameter>/second_momentum_buffer`.
    struct StatePart {
        std::string name;                 ///< of the tensor
        std::vector<std::int64_t> shape;  ///< of the whole tensor
        std::int64_t first{};             ///< index of the part's first element in that tensor
        at::Tensor tensor;                ///< the elements; contiguous, in the optimizer's memory
    };
    /// Updates `ranges`, such as those of one rank (Shards::of). `shape` is that of the model;
    /// `batch_tokens` is the number of tokens in one step. The state is zero, and on `device`.
    Optimizer(config::Model const& shape, config::OptimizerSettings settings, Tokens batch_tokens,
              std::vector<ParameterRange> ranges, c10::Device device = at::kCPU);

    [[nodiscard]] std::vector<ParameterRange> const& ranges() const { return ranges_; }
    /// Makes one step. Both spans hold a tensor of one dimension for each of ranges(), in this
    /// order. The step changes `weights` in place. `gradients` are those of the mean loss over the
    /// batches of all ranks. All learning rates are multiplied by `lr_share`. Does not wait for the
    /// device. Returns the sum of the squares of the changes of all weights, a double scalar on the
    /// device.
    at::Tensor step(std::span<at::Tensor const> weights, std::span<at::Tensor const> gradients,
                    BudgetProgress progress, double lr_share = 1, StepMask const& mask = {});
    /// Makes a step that changes neither weights nor state. It needs as much memory as step().
    void try_step(std::span<at::Tensor const> weights, std::span<at::Tensor const> gradients);
    /// Returns the scheduled values for a step at `progress` with this state, which may have
    /// to warm up.
    [[nodiscard]] Rates rates(BudgetProgress progress) const;

    /// Returns the number of steps made with this state. Waits for the device.
    [[nodiscard]] std::int64_t steps() const;
    /// Sets the number of steps made with the state, after parts() were replaced.
    void set_steps(std::int64_t steps);
    /// Returns the state of these ranges, in the optimizer's own memory.
    [[nodiscard]] std::vector<StatePart> parts() const;
    /// Sets the state to that of a new optimizer. This is necessary after a step with gradients
    /// that are not finite. Without reset(), the state would never become finite again.
    void reset();

  private:
    [[nodiscard]] double began(BudgetProgress progress) const;
    at::Tensor apply(std::span<at::Tensor const> weights, std::span<at::Tensor const> gradients,
                     Rates const& rates, StepMask const& mask);

    /// All matrices of one shape. `members` are their indices in ranges().
    struct MuonGroup {
        std::vector<std::size_t> members;
        Muon muon;
    };
    /// The range with index `member` in ranges(), and which of the rates it uses.
    struct AdamWMember {
        std::size_t member;
        double Rates::*rate;
        AdamW adamw;
    };

    config::Model shape_;
    config::OptimizerSettings settings_;
    Tokens batch_tokens_;
    std::vector<ParameterRange> ranges_;
    at::Tensor steps_;             ///< float32 scalar: exact up to 2^24
    std::int64_t begun_steps_{0};  ///< with this state; masked ones included
    std::optional<double> began_;  ///< position where the state was new; empty before a step
    std::vector<model::ParameterPlace> places_;
    std::vector<MuonGroup> muon_;
    std::vector<AdamWMember> adamw_;
};

}  // namespace curtail::optim
