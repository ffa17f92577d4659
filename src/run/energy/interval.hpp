// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/time.hpp"

namespace curtail::energy {

/// A half-open interval of time, `[from, to)`.
struct Interval {
    Time from;
    Time to;
    [[nodiscard]] FractionalSeconds length() const { return to - from; }
    friend bool operator==(Interval const&, Interval const&) = default;
};

/// Returns whether `a` and `b` have a time in common.
[[nodiscard]] inline bool overlap(Interval a, Interval b) { return a.from < b.to && b.from < a.to; }

}  // namespace curtail::energy
