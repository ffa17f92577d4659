// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <span>

#include "run/energy/state.hpp"

namespace curtail::account {

/// The states of one site in the order of time. A lookup takes logarithmic time if the states do
/// not overlap.
class StatesByTime {
  public:
    /// `states` must outlive the object.
    explicit StatesByTime(std::span<energy::StateInterval const> states);

    /// Returns at least all states that overlap `when`.
    [[nodiscard]] std::span<energy::StateInterval const> near(energy::Interval when) const;

    /// Returns how long the site was in states for which `counts` is true, inside `when`.
    template <class Counts>
    [[nodiscard]] FractionalSeconds time_in(energy::Interval when, Counts const& counts) const
    {
        FractionalSeconds sum{0};
        for (auto const& s : near(when))
            if (overlap(s.when, when) && counts(s.state))
                sum += std::min(s.when.to, when.to) - std::max(s.when.from, when.from);
        return sum;
    }

  private:
    std::span<energy::StateInterval const> states_;
    bool ordered_;  ///< each state begins when the one before has ended
};

}  // namespace curtail::account
