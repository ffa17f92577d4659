// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <span>

#include "core/time.hpp"

namespace curtail::energy {

/// The half-open time interval `[from, to)`.
struct Interval {
    Time from;
    Time to;
    [[nodiscard]] FractionalSeconds length() const { return to - from; }
    friend bool operator==(Interval const&, Interval const&) = default;
};

[[nodiscard]] inline bool overlap(Interval a, Interval b) { return a.from < b.to && b.from < a.to; }
[[nodiscard]] inline bool overlap_any(std::span<Interval const> intervals, Interval when)
{
    return std::any_of(intervals.begin(), intervals.end(),
                       [&](Interval const& i) { return overlap(i, when); });
}

}  // namespace curtail::energy
