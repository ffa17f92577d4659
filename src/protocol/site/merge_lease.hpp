// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/time.hpp"

namespace curtail::protocol::site {

/// What this process knows about the merge leases of the current round. A lease of an earlier
/// process of the site counts as the lease of another site.
class MergeLease {
  public:
    /// Returns the number of the lease to create or read next. This is the number of the newest
    /// lease seen, plus 1.
    [[nodiscard]] std::int64_t next() const { return k_ + 1; }
    /// Returns true if the newest lease seen is valid at `now`. Its holder may be any site.
    [[nodiscard]] bool held(MonoTime now) const { return k_ > 0 && now < until_; }
    [[nodiscard]] bool held_by_me(MonoTime now) const { return mine_ && held(now); }
    /// Returns the time at which the newest lease seen ends.
    [[nodiscard]] MonoTime until() const { return until_; }
    /// Records that the lease with the number next() exists. `mine`: this process created the
    /// lease. `until`: the time at which the lease ends.
    void seen(bool mine, MonoTime until)
    {
        ++k_;
        mine_ = mine;
        until_ = until;
    }

  private:
    std::int64_t k_{};  ///< number of the newest lease seen; 0: none
    bool mine_{};       ///< this process created that lease
    MonoTime until_;    ///< time at which that lease ends
};

}  // namespace curtail::protocol::site
