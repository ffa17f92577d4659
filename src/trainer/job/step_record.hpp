// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "trainer/engine/engine.hpp"
#include "trainer/job/leader_context.hpp"

namespace curtail::trainer {

/// Where a step stands in the training.
struct StepPlace {
    std::int64_t step{};   ///< as StepMetrics::step
    std::int64_t round{};  ///< as StepMetrics::round
};
/// Records the metrics of a step that has just ended on `ranks` ranks; a skipped step has no
/// tokens. After the first step, also records the phases of the start. Logs micro-batches of new
/// sizes, and keeps the number of rows that fitted.
void record_step(StepOutcome const& outcome, StepPlace const& place, int ranks,
                 LeaderContext const& context);

/// Returns the tokens on which a step trained the weights.
[[nodiscard]] inline Tokens trained_tokens(StepOutcome const& outcome)
{
    return outcome.finite ? outcome.tokens : Tokens{};
}

}  // namespace curtail::trainer
