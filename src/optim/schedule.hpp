// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "config/model.hpp"
#include "config/run.hpp"

/// Schedules of the inner optimizer as pure functions of progress (docs/model.md).
namespace curtail::optim {

/// Position s in a schedule of S steps. Both may be fractions: s = tokens / batch_tokens, where a
/// trainer counts the tokens in the committed model plus its own since. Rates therefore depend on
/// progress, not on which sites are present. s > S counts as S.
struct Progress {
    double step{};   ///< s: steps done so far, 0 at the first
    double steps{};  ///< S
};
[[nodiscard]] Progress progress_of(std::int64_t tokens, config::Optimizer const& settings,
                                   std::int64_t batch_tokens);

/// 1 until the last round(warmdown S) steps (half to even), then linear to `final_lr` at S. No
/// warm-up.
[[nodiscard]] double lr_factor(Progress at, double warmdown, double final_lr);
/// 0.85 to 0.95 over the first 300 steps, linear.
[[nodiscard]] double muon_momentum(Progress at);
/// base (12 / layers)^2 (1 - s / S).
[[nodiscard]] double muon_weight_decay(Progress at, double base, std::int64_t layers);

/// All scheduled values for one step. Learning rates include factor and scale.
struct Rates {
    double factor{};     ///< lr_factor
    double muon{};       ///< block matrices
    double head{};       ///< AdamW
    double embedding{};  ///< AdamW
    double resid{};      ///< AdamW, resid_lambdas
    double x0{};         ///< AdamW, x0_lambdas
    double momentum{};   ///< Muon
    double decay{};      ///< Muon
};
/// sqrt(batch_tokens / 2^19), the value of `lr_scale` if the run file omits it.
[[nodiscard]] double default_lr_scale(std::int64_t batch_tokens);
/// The reference's learning rates x lr_scale x factor.
[[nodiscard]] Rates rates_at(Progress at, config::Model const& shape,
                             config::Optimizer const& settings, std::int64_t batch_tokens);

}  // namespace curtail::optim
