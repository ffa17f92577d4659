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

/// One cut: the work since the previous cut.
struct CutWork {
    rounds::Ranges ranges;
    std::int64_t steps{};
    Values delta;              ///< a - x
    double sumsq{};            ///< of delta, summed in double from the first value to the last
    std::int64_t nonfinite{};  ///< number of non-finite values; if any, `delta` is zero and the
                               ///< contribution only reports them
};

/// The work of a site that is not committed yet (docs/rounds.md), with x the weights and a the
/// anchor (x at the last cut). Keeps the protocol's invariant `x = theta - sum of undecided deltas
/// - (work since the cut)`, where the work since the cut is `a - x`. Pure arithmetic, on the
/// leader.
class LocalWork {
  public:
    /// Starts from theta: x = a = theta, nothing undecided.
    void begin(Values theta);
    /// The lowest blocks of `held` that are neither in an undecided delta nor trained since the
    /// cut; at most `most`. None once the work is spoiled: further work would be refused with it.
    [[nodiscard]] rounds::Ranges next_blocks(rounds::Ranges const& held, std::int64_t most) const;
    void stepped(rounds::Ranges const& blocks);
    /// After a step on `blocks` with a non-finite loss: the work since the cut is lost, and the
    /// next cut counts as not finite. The caller must set x := a.
    void spoil(rounds::Ranges const& blocks);
    /// d = a - x; a := x. Without work since the last cut the delta is exactly zero and its ranges
    /// are empty. If the work is spoiled or d is not finite, d is zero, a stays, and the caller
    /// must set x := a.
    CutWork cut(Seq seq, std::span<float const> x);
    /// Removes `dropped` from the undecided deltas, then a := theta - sum of undecided. Returns the
    /// new x = a - u with u = a_before - x. With nothing undecided and no work since the cut, that
    /// is theta, bit for bit.
    [[nodiscard]] Values adopt(Values theta, std::vector<Seq> const& dropped,
                               std::span<float const> x);
    /// The same if theta is the stored anchor: only removes `dropped`.
    void adopt_own(std::vector<Seq> const& dropped);
    void discard();

    [[nodiscard]] Values const& anchor() const { return anchor_; }
    [[nodiscard]] std::int64_t blocks_since() const { return since_.count(); }

  private:
    void drop(std::vector<Seq> const& seqs);
    [[nodiscard]] Values without_undecided(Values theta) const;  ///< theta - sum of undecided
    Values anchor_;
    std::map<Seq, CutWork> undecided_;
    rounds::Ranges since_;
    std::int64_t steps_since_{0};
    bool spoiled_{false};  ///< the work since the cut is lost
};

}  // namespace curtail::train
