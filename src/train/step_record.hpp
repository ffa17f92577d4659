// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "train/engine.hpp"
#include "train/leader_context.hpp"

namespace curtail::train {

/// Where a step stands in the training.
struct StepPlace {
    std::int64_t step{};   ///< as StepMetrics::step
    std::int64_t round{};  ///< as StepMetrics::round
};
/// Returns the metrics of a step that has just ended on `ranks` ranks. A skipped step has no
/// tokens.
[[nodiscard]] StepMetrics metrics_of(StepOutcome const& outcome, StepPlace const& place, int ranks,
                                     LeaderContext const& context);

/// Records the phases of the start, as an event and in the log. Call it after every step; only the
/// first call has an effect.
void note_first_step(LeaderContext const& context, std::int64_t round);

/// Returns the tokens on which a step trained the weights.
[[nodiscard]] inline Tokens trained_tokens(StepOutcome const& outcome)
{
    return outcome.finite ? outcome.tokens : Tokens{};
}

}  // namespace curtail::train
