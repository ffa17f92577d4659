// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "protocol/site/messages.hpp"

namespace curtail::trainer {

/// The blocks that the protocol has ordered and no step uses yet. Only the protocol knows which
/// blocks the trainer has used (protocol::Train). But it learns of a step when the step has ended,
/// so the queue leaves out what steps have begun since the trainer was last paused.
class BlockQueue {
  public:
    /// Replaces the blocks.
    void order(protocol::Train const& train)
    {
        train_ = train;
        train_->blocks -= begun_;
    }
    /// Forgets the blocks until the next order(), which must know all steps.
    void pause()
    {
        train_.reset();
        begun_ = {};
    }
    /// Pauses, after a cut or after all work since the last cut was discarded.
    void pause_without_work()
    {
        pause();
        since_cut_ = 0;
    }
    [[nodiscard]] bool paused() const { return !train_; }
    /// Returns the lowest blocks, at most `most`.
    [[nodiscard]] protocol::Ranges next(std::int64_t most) const
    {
        return train_ ? train_->blocks.lowest(most) : protocol::Ranges{};
    }
    /// Takes `blocks` out, because a step uses them. Must not be paused.
    void begin_step(protocol::Ranges const& blocks)
    {
        train_->blocks -= blocks;
        begun_ += blocks;
        since_cut_ += blocks.count();
    }
    /// Says that the step on `blocks` changed nothing. There must have been no cut since it began.
    void skip_step(protocol::Ranges const& blocks) { since_cut_ -= blocks.count(); }
    /// Returns the number of blocks in steps since the last cut, without those that changed
    /// nothing.
    [[nodiscard]] std::int64_t since_cut() const { return since_cut_; }
    /// As protocol::Train::tokens_before. Must not be paused.
    [[nodiscard]] Tokens tokens_before() const { return train_->tokens_before; }
    /// As protocol::Train::end. Must not be paused.
    [[nodiscard]] Tokens end() const { return train_->end; }

  private:
    std::optional<protocol::Train> train_;
    protocol::Ranges begun_;  ///< since the last pause
    std::int64_t since_cut_{0};
};

}  // namespace curtail::trainer
