// SPDX-License-Identifier: Apache-2.0
#include "bill/account/states_by_time.hpp"

#include <algorithm>

namespace curtail::account {

StatesByTime::StatesByTime(std::span<energy::StateInterval const> states)
    : states_(states),
      ordered_(std::adjacent_find(states.begin(), states.end(), [](auto const& a, auto const& b) {
                   return b.when.from < a.when.to;
               }) == states.end())
{
}

std::span<energy::StateInterval const> StatesByTime::near(energy::Interval when) const
{
    if (!ordered_) return states_;
    auto const first = std::partition_point(states_.begin(), states_.end(),
                                            [&](auto const& s) { return s.when.to <= when.from; });
    auto const last = std::partition_point(first, states_.end(),
                                           [&](auto const& s) { return s.when.from < when.to; });
    return {first, last};
}

}  // namespace curtail::account
