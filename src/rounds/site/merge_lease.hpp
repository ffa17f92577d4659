// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/time.hpp"

namespace curtail::rounds::site {

/// The merge leases of this round as far as this site has seen them.
class MergeLease {
  public:
    [[nodiscard]] std::int64_t next() const { return k_ + 1; }  ///< number of the next lease
    [[nodiscard]] bool held(MonoTime now) const { return k_ > 0 && now < until_; }
    [[nodiscard]] bool held_by_me(MonoTime now) const { return mine_ && held(now); }
    [[nodiscard]] MonoTime until() const { return until_; }
    /// Lease next() exists.
    void seen(bool mine, MonoTime until) { *this = MergeLease(k_ + 1, mine, until); }
    MergeLease() = default;

  private:
    MergeLease(std::int64_t k, bool mine, MonoTime until) : k_(k), mine_(mine), until_(until) {}

    std::int64_t k_{};  ///< highest lease seen; 0: none
    bool mine_{};
    MonoTime until_;
};

}  // namespace curtail::rounds::site
