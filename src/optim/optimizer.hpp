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

/// The state that a snapshot keeps, so that training resumes bit-exactly.
struct OptimizerState {
    std::int64_t steps{};  ///< steps done
    /// `<parameter>/exp_avg` and `/exp_avg_sq`, or `<parameter>/momentum_buffer` and
    /// `/second_momentum_buffer`; float32.
    std::vector<model::NamedTensor> tensors;
};

/// The inner optimizer of a site: Muon for block matrices, AdamW for the rest, with scheduled
/// rates. Every rank holds the complete state and takes the same steps from the same gradients.
class Optimizer {
  public:
    Optimizer(config::Model const& shape, config::Optimizer settings, std::int64_t batch_tokens);

    /// One step. `gradients` are those of the mean loss over the whole batch.
    void step(model::Parameters& weights, model::Parameters const& gradients, Progress at);
    [[nodiscard]] Rates rates(Progress at) const
    {
        return rates_at(at, shape_, settings_, batch_tokens_);
    }

    /// The tensors share memory with the optimizer: copy or write them before the next step.
    [[nodiscard]] OptimizerState state() const;
    /// Copies a state. If names or shapes differ, fails with `data` and changes nothing.
    [[nodiscard]] Result<void> restore(OptimizerState const& state);
    /// Back to the state of a new optimizer. Needed after non-finite gradients, which would stay in
    /// the state forever.
    void reset();

  private:
    /// Matrices of one shape; `members` are indices into Parameters::named().
    struct MuonGroup {
        std::vector<std::size_t> members;
        Muon muon;
    };
    struct AdamWMember {
        std::size_t member;
        double Rates::*rate;
        AdamW adamw;
    };

    config::Model shape_;
    config::Optimizer settings_;
    std::int64_t batch_tokens_;
    std::int64_t steps_{0};
    std::vector<model::ParameterPlace> places_;
    std::vector<MuonGroup> muon_;
    std::vector<AdamWMember> adamw_;
};

}  // namespace curtail::optim
