// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "base/core/time.hpp"

namespace curtail::protocol::site {

/// The store's clock, as far as this process knows it. The process measures it with each object
/// that it creates, and carries it on by its monotonic clock.
class StoreClock {
  public:
    [[nodiscard]] Time at(MonoTime now) const { return Time{now.time_since_epoch() + offset_}; }
    /// Takes the time at which the store created an object. The request was sent at `asked`, the
    /// answer came at `now`. Ignores an answer that took more than 5 s. Returns by how much the
    /// clock has jumped if that is more than 10 s.
    std::optional<Millis> measure(Time created, MonoTime asked, MonoTime now)
    {
        if (measured_ && now - asked > Seconds{5}) return std::nullopt;
        auto const offset = created.time_since_epoch() - now.time_since_epoch();
        auto const jump = offset - offset_;
        bool const first = !measured_;
        offset_ = offset;
        measured_ = true;
        bool const far = jump > Seconds{10} || jump < Seconds{-10};
        return far && !first ? std::optional<Millis>(jump) : std::nullopt;
    }

  private:
    Millis offset_{0};
    bool measured_{};
};

}  // namespace curtail::protocol::site
