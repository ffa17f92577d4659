// SPDX-License-Identifier: Apache-2.0
#include "train/alone_training.hpp"

#include <algorithm>
#include <cmath>

#include "core/clock.hpp"
#include "train/leader_snapshots.hpp"
#include "train/step_record.hpp"

namespace curtail::train {
namespace {

class AloneLoop {
  public:
    AloneLoop(SiteRanks& ranks, LeaderContext const& context, std::int64_t stream_blocks)
        : ranks_(ranks),
          context_(context),
          stream_blocks_(stream_blocks),
          position_(context.start),
          snapshots_(ranks, context, nullptr)
    {
    }

    Result<void> run()
    {
        while (auto const blocks = next_blocks())
            if (auto made = train_step(*blocks); !made) return made;
        context_.recorder.state(energy::State::draining);
        return save();
    }

  private:
    // The blocks of the next step; empty at the end of the training.
    [[nodiscard]] std::optional<rounds::Ranges> next_blocks() const
    {
        auto const steps = context_.run.training.steps_without_store;
        auto const next = position_.tokens / context_.run.rounds.block_tokens;
        bool const complete = (steps > 0 && position_.steps >= steps) || next >= stream_blocks_;
        context_.permission.check();
        if (complete || stop_ || ranks_.stop().raised()) return std::nullopt;
        return rounds::Ranges::between(
            next, std::min(next + ranks_.engine().blocks_per_step(), stream_blocks_));
    }

    Result<void> train_step(rounds::Ranges const& blocks)
    {
        context_.recorder.state(energy::State::training);
        auto const made = ranks_.step(blocks, position_.tokens);
        if (!made) {
            if (auto saved = save(); !saved) snapshots_.report(saved.error());
            return tl::unexpected(made.error());
        }
        auto const& outcome = *made;
        stop_ = outcome.stop_requested;
        if (outcome.blocks.empty()) return {};
        ++position_.steps;
        context_.recorder.step(
            metrics_of(outcome, {position_.steps, 0, position_.tokens}, ranks_.size(), context_));
        position_.tokens += trained_tokens(outcome);
        if (!outcome.finite) return not_finite();
        snapshots_.step();
        auto const every = context_.run.training.snapshot_every_steps;
        if (every > 0 && position_.steps % every == 0) begin_snapshot();
        snapshots_.poll();
        return {};
    }

    [[nodiscard]] Result<void> not_finite() const
    {
        return fail(
            ExitCode::data, "cannot continue training",
            "the loss or a gradient of step " + std::to_string(position_.steps) + " is not finite",
            "lower optimizer.lr_scale or check this site's hardware (a snapshot in " +
                context_.folder.string() + " is from before this step)");
    }

    void begin_snapshot() { snapshots_.begin(position_, context_.training_id); }
    Result<void> save()
    {
        if (auto done = snapshots_.finish(); !done) snapshots_.report(done.error());
        begin_snapshot();
        return snapshots_.finish();
    }

    SiteRanks& ranks_;
    LeaderContext const& context_;
    std::int64_t stream_blocks_;
    Position position_;
    LeaderSnapshots snapshots_;
    bool stop_{false};  // a rank was asked to stop
};

}  // namespace

Result<void> train_alone(SiteRanks& ranks, LeaderContext const& context, std::int64_t stream_blocks)
{
    return AloneLoop(ranks, context, stream_blocks).run();
}

}  // namespace curtail::train
