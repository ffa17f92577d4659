// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/clock.hpp"
#include "train/run_training.hpp"

namespace curtail::train {

Result<void> train_alone(Crew& crew, LeaderContext const& context, std::int64_t stream_blocks)
{
    auto position = context.start;
    auto const block_tokens = context.run.rounds.block_tokens;
    auto const save = [&] {
        return save_snapshot(context.snapshot, context.run.run, context.owner.value(), position,
                             crew.engine().weights(), crew.engine().optimizer().state());
    };
    bool stop = false;
    for (;;) {
        auto const next = position.tokens.value / block_tokens;
        bool const enough =
            context.run.training.steps > 0 && position.steps >= context.run.training.steps;
        if (stop || enough || next >= stream_blocks || crew.stop().raised()) break;
        auto const blocks = rounds::Ranges::between(
            next, std::min(next + crew.engine().blocks_per_step(), stream_blocks));
        context.recorder.state(PowerState::training);
        auto const made = crew.step(blocks, position.tokens);
        if (!made) {
            if (auto saved = save(); !saved) context.log.warning(saved.error().message());
            return tl::unexpected(made.error());
        }
        auto const& outcome = *made;
        stop = outcome.stop_seen;
        ++position.steps;
        context.recorder.step({SystemClock{}.now(), position.steps, 0, outcome.tokens,
                               position.tokens, outcome.loss, outcome.lr_factor, outcome.duration});
        position.tokens += outcome.tokens;
        if (!std::isfinite(outcome.loss))
            return fail(ExitCode::data, "cannot go on training",
                        "the loss of step " + std::to_string(position.steps) + " is not finite",
                        "lower optimizer.lr_scale, or look at this site's hardware; " +
                            context.snapshot.string() +
                            ", if there is one, is from before and stays");
        auto const every = context.run.training.snapshot_every_steps;
        if (every > 0 && position.steps % every == 0)
            if (auto saved = save(); !saved) context.log.warning(saved.error().message());
    }
    context.recorder.state(PowerState::draining);
    return save();
}

}  // namespace curtail::train
