// SPDX-License-Identifier: Apache-2.0
// An optimizer of all parameters of a model, and the whole state of several ranks' optimizers.
#pragma once
#include <ATen/ops/zeros.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "trainer/model/optim/optimizer.hpp"

namespace curtail::test {

inline optim::Optimizer whole_optimizer(config::Model const& shape,
                                        config::OptimizerSettings const& settings = {},
                                        Tokens batch_tokens = Tokens{2048})
{
    return {shape, settings, batch_tokens, optim::deal_shards(shape, 1).of(0)};
}

/// Returns the ranges of `optimizer` in a buffer, whose memory they share.
inline std::vector<at::Tensor> ranges_in(at::Tensor const& flat, optim::Optimizer const& optimizer)
{
    std::vector<at::Tensor> ranges;
    for (auto const& range : optimizer.ranges())
        ranges.push_back(flat.narrow(0, range.offset, range.count));
    return ranges;
}

/// Makes one step on the ranges of `optimizer`.
inline void step(optim::Optimizer& optimizer, model::Parameters const& weights,
                 model::Parameters const& gradients, optim::BudgetProgress progress)
{
    (void)optimizer.step(ranges_in(weights.flat(), optimizer),
                         ranges_in(gradients.flat(), optimizer), progress);
}

/// Copies of the tensors that a snapshot stores, by name.
struct WholeState {
    std::int64_t steps{};
    std::map<std::string, at::Tensor> tensors;
};

/// Returns the elements of a tensor of the state that belong to `part`.
inline at::Tensor range_of(WholeState const& whole, optim::Optimizer::StatePart const& part)
{
    return whole.tensors.at(part.name)
        .view({-1})
        .narrow(0, part.first, part.tensor.numel())
        .view(part.tensor.sizes());
}

inline WholeState state_of(std::span<optim::Optimizer const> optimizers)
{
    WholeState whole;
    for (auto const& optimizer : optimizers) {
        whole.steps = optimizer.steps();
        for (auto const& part : optimizer.parts()) {
            if (!whole.tensors.contains(part.name))
                whole.tensors[part.name] = at::zeros(part.shape, part.tensor.options());
            range_of(whole, part).copy_(part.tensor);
        }
    }
    return whole;
}
inline WholeState state_of(optim::Optimizer const& optimizer) { return state_of({&optimizer, 1}); }

/// Replaces the state as a snapshot does.
inline void restore(optim::Optimizer& optimizer, WholeState const& whole)
{
    for (auto const& part : optimizer.parts()) part.tensor.copy_(range_of(whole, part));
    optimizer.set_steps(whole.steps);
}

}  // namespace curtail::test
