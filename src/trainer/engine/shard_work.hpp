// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/core/ids.hpp"

namespace curtail::trainer {

/// Returns how many elements a cut computes at once. On a CPU, they stay in the cache. On a GPU,
/// large slices need few kernels. A slice needs temporary memory, because ATen's norm in double
/// precision first converts all values: 512 MB on a GPU.
[[nodiscard]] std::int64_t cut_slice_elements(c10::Device device);

/// What a cut found in the differences `anchor - weights`.
struct CutSums {
    double sumsq{};            ///< sum of the squares of all values
    std::int64_t nonfinite{};  ///< number of values that are not finite
};

/// One rank's share of a site's work that no commit has included or refused yet (docs/rounds.md).
/// The comments below use three symbols, for the elements of this rank's shard of the parameters.
/// `x` stands for the weights, and `a` for the anchor. `theta` stands for the committed model that
/// the site adopted last.
///
/// A delta is undecided from its cut until a commit includes or refuses it. The anchor is
/// `a = theta - sum of undecided deltas`, up to rounding. The difference `a - x` is the work since
/// the last cut.
///
/// All tensors are float32 vectors of one size, on one device.
class ShardWork {
  public:
    /// Forgets all work and sets `a := x`.
    void begin(at::Tensor const& x);
    /// Forgets all work and the anchor. Call begin() before the next use.
    void discard();

    /// Begins the cut `seq`, which must be new: its delta becomes `a - x`.
    [[nodiscard]] CutSums begin_cut(Seq seq, at::Tensor const& x);
    /// Ends the cut `seq`. If it is `good` on all ranks, sets `a := x`. Otherwise, sets the delta
    /// to exactly zero and `x := a`.
    void end_cut(Seq seq, bool good, at::Tensor const& x);
    /// Returns the delta of the cut `seq`.
    [[nodiscard]] at::Tensor const& delta(Seq seq) const { return undecided_.at(seq); }
    /// Returns `a`; undefined before begin() and after discard().
    [[nodiscard]] at::Tensor const& anchor() const { return anchor_; }

    /// Returns a vector as large as `x`, with any values. In host memory, uses that of a forgotten
    /// delta or anchor again, because new memory is slow.
    [[nodiscard]] at::Tensor room(at::Tensor const& x);
    /// Adopts the committed model `theta`. Computes `u := a - x`, the work since the last cut, and
    /// sets `a := theta - sum of undecided deltas` and `x := a - u`. `worked` says whether there
    /// was any work since the last cut; if not, sets `x := a`. Call forget() first.
    ///
    /// The function keeps `theta` as the anchor and changes it.
    ///
    /// If no delta is undecided any more and there was no work, x then equals theta exactly.
    void adopt(at::Tensor const& theta, bool worked, at::Tensor const& x);
    /// Forgets the deltas of the cuts `seqs`. `a` and `x` stay the same.
    void forget(std::vector<Seq> const& seqs);

  private:
    void keep_memory_of(at::Tensor unused);

    at::Tensor anchor_;
    std::map<Seq, at::Tensor> undecided_;
    at::Tensor unused_;  ///< memory of a forgotten delta or anchor; undefined: none
};

}  // namespace curtail::trainer
