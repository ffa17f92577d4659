// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/alone_training.hpp"

#include <algorithm>

#include "trainer/job/leader_snapshots.hpp"
#include "trainer/job/step_record.hpp"

namespace curtail::trainer {
namespace {

class AloneLoop {
  public:
    AloneLoop(SiteRanks& ranks, LeaderContext const& context, std::int64_t stream_blocks,
              Tokens end)
        : ranks_(ranks),
          context_(context),
          stream_blocks_(stream_blocks),
          end_(end),
          position_(context.start),
          begun_{context.start.steps, context.start.tokens},
          snapshots_(ranks, context, nullptr)
    {
    }

    Result<void> run()
    {
        while (auto const blocks = next_blocks())
            if (auto made = train_step(*blocks); !made) return made;
        if (auto finished = finish_steps(); !finished) return finished;
        context_.recorder.state(energy::PowerState::draining);
        return save();
    }

  private:
    // The blocks of the next step; empty at the end of the training.
    [[nodiscard]] std::optional<protocol::Ranges> next_blocks() const
    {
        auto const steps = context_.run.training.steps_without_store;
        auto const next = begun_.tokens / context_.run.rounds.block_tokens;
        bool const complete = (steps > 0 && begun_.steps >= steps) || next >= stream_blocks_;
        context_.permission.check();
        if (complete || stop_ || ranks_.stop().raised()) return std::nullopt;
        return protocol::Ranges::between(
            next, std::min(next + ranks_.engine().blocks_per_step(), stream_blocks_));
    }

    Result<void> train_step(protocol::Ranges const& blocks)
    {
        context_.recorder.state(energy::PowerState::training);
        auto const begun = ranks_.step(blocks, {begun_.tokens, end_});
        if (!begun) {
            if (auto saved = save(); !saved) snapshots_.report(saved.error());
            return tl::unexpected(begun.error());
        }
        stop_ = begun->stop_requested;
        begun_.tokens += begun->blocks.count() * context_.run.rounds.block_tokens;
        begun_.steps += begun->blocks.empty() ? 0 : 1;
        if (auto recorded = record_outcomes(); !recorded) return recorded;
        auto const every = context_.run.training.snapshot_every_steps;
        if (every > 0 && !begun->blocks.empty() && begun_.steps % every == 0)
            if (auto snapshot = begin_snapshot(); !snapshot) return snapshot;
        snapshots_.poll();
        return {};
    }

    // Records the steps whose outcomes are known. Fails if one was skipped.
    Result<void> record_outcomes()
    {
        while (auto const outcome = ranks_.take_outcome()) {
            ++position_.steps;
            position_.tokens += trained_tokens(*outcome);
            record_step(*outcome, {position_.steps, 0}, ranks_.size(), context_);
            if (!outcome->finite)
                return fail(
                    ExitCode::data, "cannot continue training",
                    "the loss or a gradient of step " + std::to_string(position_.steps) +
                        " is not finite",
                    "lower optimizer.lr_scale or check this site's hardware (a snapshot in " +
                        context_.folder.string() + " is from before this step)");
            snapshots_.step();
        }
        return {};
    }

    Result<void> finish_steps()
    {
        ranks_.engine().finish_steps();
        return record_outcomes();
    }
    // A snapshot is of the position after all steps. No step runs while the ranks copy their
    // values.
    Result<void> begin_snapshot()
    {
        if (auto finished = finish_steps(); !finished) return finished;
        context_.recorder.state(energy::PowerState::idle);
        snapshots_.begin(position_, context_.training_id);
        return {};
    }
    Result<void> save()
    {
        if (auto done = snapshots_.finish(); !done) snapshots_.report(done.error());
        if (auto finished = finish_steps(); !finished) return finished;
        snapshots_.begin(position_, context_.training_id);
        return snapshots_.finish();
    }

    SiteRanks& ranks_;
    LeaderContext const& context_;
    std::int64_t stream_blocks_;
    Tokens end_;
    Position position_;  // after the steps with known outcomes
    struct PendingStep {
        std::int64_t steps;
        Tokens tokens;
    } begun_;  // after all steps
    LeaderSnapshots snapshots_;
    bool stop_{false};  // a rank was asked to stop
};

}  // namespace

Result<void> train_alone(SiteRanks& ranks, LeaderContext const& context, std::int64_t stream_blocks,
                         Tokens end)
{
    return AloneLoop(ranks, context, stream_blocks, end).run();
}

}  // namespace curtail::trainer
