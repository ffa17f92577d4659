// SPDX-License-Identifier: Apache-2.0
#include "trainer/model/optim/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace curtail::optim {

BudgetProgress progress_of(RunProgress progress, config::OptimizerSettings const& settings,
                           Tokens batch_tokens)
{
    return {ratio(progress.tokens, batch_tokens),
            ratio(settings.schedule.value_or(progress.end), batch_tokens)};
}

double lr_factor(BudgetProgress progress, double warmdown, double final_lr)
{
    double const tail = protocol::InnerOptimizer::warmdown_steps(warmdown, progress.length);
    double const step = std::min(progress.position, progress.length);
    if (tail <= 0 || step <= progress.length - tail) return 1;
    double const share = (progress.length - step) / tail;
    return share + (1 - share) * final_lr;
}

double warm_up(std::int64_t steps, double began)
{
    return std::min(
        1.0, static_cast<double>(steps + 1) / std::min(warm_up_steps, std::max(began, 0.0) + 1));
}

double muon_momentum(BudgetProgress progress)
{
    double const share = std::min(progress.position / 300, 1.0);
    return (1 - share) * 0.85 + share * 0.95;
}

double muon_weight_decay(BudgetProgress progress, double base, std::int64_t layers)
{
    double const depth = 12.0 / static_cast<double>(layers);
    return base * depth * depth * (1 - std::min(progress.position / progress.length, 1.0));
}

double default_lr_scale(Tokens batch_tokens)
{
    return std::sqrt(ratio(batch_tokens, Tokens{524'288}));
}

Rates rates_at(BudgetProgress progress, config::Model const& shape,
               config::OptimizerSettings const& settings, Tokens batch_tokens)
{
    double const factor = lr_factor(progress, settings.warmdown, settings.final_lr);
    double const scale = settings.lr_scale.value_or(default_lr_scale(batch_tokens));
    double const width = 1 / std::sqrt(static_cast<double>(shape.width) / 768);
    return {.lr_factor = factor,
            .muon = 0.02 * scale * factor,
            .head = 0.004 * width * scale * factor,
            .embedding = 0.3 * width * scale * factor,
            .resid = 0.5 * 0.01 * scale * factor,
            .x0 = 0.5 * scale * factor,
            .momentum = muon_momentum(progress),
            .weight_decay = muon_weight_decay(progress, settings.weight_decay, shape.layers)};
}

}  // namespace curtail::optim
