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

/// One cut: what was learned since the cut before.
struct CutWork {
    rounds::Ranges ranges;
    std::int64_t steps{};
    Values delta;              ///< a - x
    double sumsq{};            ///< of delta, summed in double from the first value to the last
    std::int64_t nonfinite{};  ///< values that were not finite; then `delta` is zero: there is
                               ///< nothing to contribute but the word of it
};

/// What a site has learned but not yet seen committed (docs/rounds.md). Keeps the protocol's
/// invariant `x = theta - sum of undecided deltas - (work since the cut)`, where work since the cut
/// is `a - x`. Pure arithmetic, on the leader.
class LocalWork {
  public:
    /// Begins from theta: x = a = theta, nothing undecided.
    void begin(Values theta);
    /// The lowest blocks of `held` that are neither in an undecided delta nor trained since the
    /// cut; at most `most`. None once the work is spoiled: what is trained before the cut would be
    /// refused with it.
    [[nodiscard]] rounds::Ranges next_blocks(rounds::Ranges const& held, std::int64_t most) const;
    void stepped(rounds::Ranges const& blocks);
    /// A step on `blocks` had a loss that is not finite: the work since the cut is lost, and the
    /// caller sets x := a. The next cut counts as not finite.
    void spoil(rounds::Ranges const& blocks);
    /// d = a - x; a := x. Without work since the last cut the delta is exactly zero and its ranges
    /// are empty. If the work is spoiled or d is not finite, d is zero, a stays and the caller sets
    /// x := a.
    CutWork cut(Seq seq, std::span<float const> x);
    /// Forgets `dropped`, then a := theta - sum of undecided; answers the new x = a - u, with u =
    /// a_before - x. With nothing undecided and no work since the cut that is theta, bit for bit.
    [[nodiscard]] Values adopt(Values theta, std::vector<Seq> const& dropped,
                               std::span<float const> x);
    /// theta is the anchor that was stored: only `dropped` goes.
    void adopt_own(std::vector<Seq> const& dropped);
    void discard();

    [[nodiscard]] Values const& anchor() const { return anchor_; }
    [[nodiscard]] std::int64_t blocks_since() const { return since_.count(); }

  private:
    void drop(std::vector<Seq> const& seqs);
    Values anchor_;
    std::map<Seq, CutWork> undecided_;
    rounds::Ranges since_;
    std::int64_t steps_since_{0};
    bool spoiled_{false};  ///< the work since the cut
};

}  // namespace curtail::train
