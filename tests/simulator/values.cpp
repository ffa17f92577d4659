// SPDX-License-Identifier: Apache-2.0
#include "simulator/values.hpp"

#include <span>

#include "protocol/rules/merge.hpp"

namespace curtail::protocol::simulator {

Values values_of(Tickets const& tickets)
{
    Values values{};
    for (std::size_t block = 0; block < tickets.size(); ++block)
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] += static_cast<float>(tickets[block]) *
                         static_cast<float>((block * 37 + i * 11) % 13 + 1) * 0.01F;
    return values;
}

MergedValues merge_values(Values const& model, Values const& momentum,
                          std::vector<Term> const& terms, MergeSettings const& settings)
{
    std::vector<std::span<float const>> deltas;
    std::vector<float> scales;
    for (auto const& term : terms) {
        deltas.emplace_back(term.delta);
        scales.push_back(term.scale);
    }
    WeightedDeltas const weighted{deltas, scales};
    MergedValues merged{};
    if (!settings.outer_step) {
        average_step(model, weighted, merged.model);
        return merged;
    }
    OuterStep const step{model, momentum, static_cast<float>(settings.eta),
                         static_cast<float>(settings.mu)};
    nesterov_step(step, weighted, merged.model, merged.momentum);
    return merged;
}

}  // namespace curtail::protocol::simulator
