// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/step_record.hpp"

#include <sys/resource.h>

namespace curtail::trainer {
namespace {

Bytes peak_memory()
{
    struct rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    return Bytes{usage.ru_maxrss * 1'024};
}

// Model FLOPs utilization (arXiv:2204.02311, appendix B).
std::optional<double> mfu_of(StepOutcome const& outcome, int ranks, LeaderContext const& context)
{
    auto const peak = context.site.rank_peak_tflops;
    if (!peak || outcome.duration.count() <= 0) return std::nullopt;
    double const operations =
        context.run.model.flops_per_token() * static_cast<double>(outcome.tokens.value);
    return operations / (outcome.duration.count() * ranks * *peak * 1e12);
}

StepMetrics metrics_of(StepOutcome const& outcome, StepPlace const& place, int ranks,
                       LeaderContext const& context)
{
    auto const& [time, monotonic] = outcome.ended.value();
    return {.time = time,
            .step = place.step,
            .round = place.round,
            .tokens = trained_tokens(outcome),
            .progress = outcome.progress.tokens,
            .loss = if_finite(outcome.loss),
            .lr_scale = outcome.lr_factor,
            .duration = outcome.duration,
            .monotonic = monotonic,
            .details = runlog::StepDetails{.phases = outcome.phases,
                                           .gradient_norm = if_finite(outcome.gradient_norm),
                                           .update_norm = if_finite(outcome.update_norm),
                                           .energy_j = outcome.energy_j,
                                           .mfu = mfu_of(outcome, ranks, context),
                                           .memory = peak_memory(),
                                           .gpu_memory = outcome.gpu_memory,
                                           .new_shapes = std::ssize(outcome.new_shapes)}};
}

}  // namespace

void record_step(StepOutcome const& outcome, StepPlace const& place, int ranks,
                 LeaderContext const& context)
{
    if (context.start_timer.done("first_step")) {
        context.recorder.event(runlog::FirstStep{place.round, context.start_timer.to_json()});
        context.log.info("first step after " + context.start_timer.to_text());
    }
    context.recorder.step(metrics_of(outcome, place, ranks, context), outcome.progress.end);
    for (auto const rows : outcome.new_shapes)
        context.log.info("a step computed a micro-batch of " + std::to_string(rows) +
                         (rows == 1 ? " row" : " rows") + " for the first time");
    context.fitting_rows.note(outcome, context.log);
}

}  // namespace curtail::trainer
