// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "payload/payload.hpp"
#include "rounds/ranges.hpp"

namespace curtail::train {

using payload::Values;

/// The work between two cuts.
struct CutWork {
    rounds::Ranges ranges;  ///< blocks that the work used
    std::int64_t steps{};   ///< number of optimizer steps
    Values delta;           ///< anchor - weights
    /// Sum of the squares of the values in `delta`, added in double from the first value to the
    /// last.
    double sum_of_squares{};
    /// Number of non-finite values in anchor - weights. If this number is positive, `delta` is zero
    /// and no commit includes this work.
    std::int64_t nonfinite{};
};

/// A site's work that no commit has included or refused yet (docs/rounds.md). The comments below
/// use three symbols. `x` stands for the weights, and `a` for the anchor. `theta` stands for the
/// committed model that the site adopted last.
///
/// A delta is undecided from its cut until a commit includes or refuses it. The anchor is
/// `a = theta - sum of undecided deltas`, up to rounding. The difference `a - x` is the work since
/// the last cut.
///
/// This class only computes; its caller changes the ranks' weights. Used only on the leader.
class LocalWork {
  public:
    /// Forgets all work and sets `a := theta`. The caller must set `x := theta`.
    void begin(Values theta);
    /// Returns the blocks for the next step: the lowest blocks of `held` that no step has used yet.
    /// These are blocks that are neither in an undecided delta nor in a step since the last cut,
    /// nor in a skipped step. Returns at most `most` blocks.
    [[nodiscard]] rounds::Ranges next_blocks(rounds::Ranges const& held, std::int64_t most) const;
    /// Records an optimizer step on `blocks`.
    void record_step(rounds::Ranges const& blocks);
    /// Records that the loss or a gradient of a step on `blocks` was not finite, so that the step
    /// did not change the weights. next_blocks() does not return these blocks again before the next
    /// begin().
    void record_skipped_step(rounds::Ranges const& blocks);
    /// Makes a cut and returns the work since the previous cut. `seq` is the number of the cut and
    /// must be new.
    ///
    /// If a value of `a - x` was not finite, returns a zero delta and leaves
    /// `a` unchanged; the caller must then set `x := a`. Otherwise returns the delta `a - x` and
    /// sets `a := x`. If there was no work, the delta is exactly zero and CutWork::ranges is empty.
    CutWork cut(Seq seq, std::span<float const> x);
    /// Adopts the committed model `theta`. First forgets the deltas of the cuts `dropped`, which
    /// commits have included or refused. Then computes `u := a - x`, the work since the last cut,
    /// and sets `a := theta - sum of undecided deltas`. Returns the new weights, `a - u`.
    ///
    /// If no delta is undecided any more and there was no work since the last cut, the new weights
    /// equal theta exactly.
    [[nodiscard]] Values adopt(Values theta, std::vector<Seq> const& dropped,
                               std::span<float const> x);
    /// Adopts the model of a checkpoint that this site committed. Forgets the deltas of the cuts
    /// `dropped`. `a` and `x` stay the same.
    void adopt_own(std::vector<Seq> const& dropped);
    /// Forgets all work and the anchor. Call begin() before the next use.
    void discard();

    /// Returns `a`; null before begin() and after discard().
    [[nodiscard]] Values const& anchor() const { return anchor_; }
    /// Returns the number of blocks trained since the last cut.
    [[nodiscard]] std::int64_t blocks_since() const { return since_.count(); }

  private:
    void drop(std::vector<Seq> const& seqs);
    /// Returns `theta - sum of undecided deltas`.
    [[nodiscard]] Values without_undecided(Values theta) const;
    Values anchor_;
    std::map<Seq, CutWork> undecided_;
    rounds::Ranges since_;
    rounds::Ranges skipped_;
    std::int64_t steps_since_{0};
};

}  // namespace curtail::train
