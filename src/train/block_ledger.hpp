// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "core/ids.hpp"
#include "rounds/ranges.hpp"

namespace curtail::train {

/// The blocks that a member has trained on or skipped, and no commit has decided yet. Used on the
/// leader. RankWork (train/rank_work.hpp) has the values.
class BlockLedger {
  public:
    void begin() { *this = {}; }  ///< forgets everything
    /// Returns the blocks for the next step: the lowest blocks of `held` that no step has used yet.
    /// These are blocks that are neither in an undecided delta nor in a step since the last cut,
    /// nor in a skipped step. Returns at most `most` blocks.
    [[nodiscard]] rounds::Ranges next_blocks(rounds::Ranges const& held, std::int64_t most) const;
    /// Records an optimizer step on `blocks`.
    void record_step(rounds::Ranges const& blocks);
    /// Takes back record_step(), because the loss or a gradient of this step was not finite, so
    /// that it did not change the weights. There must have been no cut since. next_blocks() does
    /// not return these blocks again before forget() is called for the next cut.
    void skip_step(rounds::Ranges const& blocks);

    /// The blocks and steps of a cut.
    struct Cut {
        rounds::Ranges ranges;   ///< blocks that the steps since the previous cut used
        rounds::Ranges skipped;  ///< blocks that they skipped
        std::int64_t steps{};
    };
    /// Records a cut. `seq` is its number and must be new.
    Cut cut(Seq seq);
    /// Forgets the cuts `seqs`, which commits have included or refused.
    void forget(std::vector<Seq> const& seqs);
    /// Returns the number of blocks trained since the last cut.
    [[nodiscard]] std::int64_t blocks_since() const { return since_.count(); }

  private:
    std::map<Seq, rounds::Ranges> undecided_;  ///< blocks used or skipped before each cut
    rounds::Ranges since_;
    rounds::Ranges skipped_;
    std::int64_t steps_since_{0};
};

}  // namespace curtail::train
