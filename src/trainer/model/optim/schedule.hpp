// SPDX-License-Identifier: Apache-2.0
#pragma once

// Schedules of the inner optimizer as pure functions of progress (docs/model.md).

#include <cstdint>

#include "base/core/units.hpp"
#include "run/config/model.hpp"
#include "run/config/run.hpp"

namespace curtail::optim {

/// Position s in a schedule of S steps. s and S need not be integers: each is a number of tokens,
/// divided by the number of tokens in one step. For s, a member of a run counts the tokens in the
/// committed model and the tokens of its own work that no commit has decided yet. Rates therefore
/// depend on progress and not on which sites are present. A trainer without a store counts all
/// tokens that it has trained on. An s greater than S counts as S.
struct BudgetProgress {
    double position{};  ///< s; 0 in the first step of a run
    double length{};    ///< S, the length of the schedule
};
/// How far a run is when a step begins, in tokens.
struct RunProgress {
    Tokens tokens;  ///< that s counts
    Tokens end;     ///< after which the run is complete (protocol::RunSpec::end())
};
/// Returns the position in the schedule, which ends with the run if the settings state no other
/// length. `batch_tokens` is the number of tokens in one step.
[[nodiscard]] BudgetProgress progress_of(RunProgress progress,
                                         config::OptimizerSettings const& settings,
                                         Tokens batch_tokens);

/// Returns the factor of all learning rates. The factor is 1 except in the last W steps, where it
/// falls linearly to `final_lr`. W is `warmdown` times S, rounded to the nearest integer (x.5: to
/// the even one). At the beginning of a run there is no warm-up, as in nanochat.
[[nodiscard]] double lr_factor(BudgetProgress progress, double warmdown, double final_lr);
/// Number of steps in which a new state of the optimizer warms up within a run.
inline constexpr double warm_up_steps = 10;
/// Returns a second factor of all learning rates: (steps + 1) / min(warm_up_steps, began + 1), at
/// most 1. `steps` is the number of steps made with the state, and `began` the position where it
/// was new. The first steps of AdamW with a new state change all weights at the full rate, however
/// small their gradients are. In a trained model this can raise the loss by several nats
/// (docs/adr/0011-warm-up-of-a-new-state.md).
[[nodiscard]] double warm_up(std::int64_t steps, double began);
/// Returns the factor of Muon's momentum. The factor rises linearly from 0.85 to 0.95 over the
/// first 300 steps of the schedule.
[[nodiscard]] double muon_momentum(BudgetProgress progress);
/// Returns the weight decay of Muon, which is `base` * (12 / layers)^2 * (1 - s / S).
[[nodiscard]] double muon_weight_decay(BudgetProgress progress, double base, std::int64_t layers);

/// All scheduled values for one step. The learning rates `muon`, `head`, `embedding`, `resid` and
/// `x0` include `lr_factor` and `lr_scale`.
struct Rates {
    double lr_factor{};     ///< result of lr_factor(), and of warm_up() in Optimizer::rates()
    double muon{};          ///< for the matrices of the layers (Muon)
    double head{};          ///< for the head (AdamW)
    double embedding{};     ///< for the embedding (AdamW)
    double resid{};         ///< for resid_lambdas (AdamW)
    double x0{};            ///< for x0_lambdas (AdamW)
    double momentum{};      ///< result of muon_momentum()
    double weight_decay{};  ///< result of muon_weight_decay()
};
/// Returns sqrt(batch_tokens / 2^19), which is the value of `lr_scale` if the run file does not set
/// it.
[[nodiscard]] double default_lr_scale(Tokens batch_tokens);
/// Returns the values for a step at `progress`. Each learning rate is nanochat's
/// (docs/model.md), times `lr_scale`, times `lr_factor`.
[[nodiscard]] Rates rates_at(BudgetProgress progress, config::Model const& shape,
                             config::OptimizerSettings const& settings, Tokens batch_tokens);

}  // namespace curtail::optim
