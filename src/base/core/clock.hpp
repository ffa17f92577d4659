// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>

#include "base/core/time.hpp"

namespace curtail {

/// A source of the current time. Only adapters, which carry out decisions, hold a clock. Functions
/// that make decisions receive the time as a parameter instead.
class Clock {
  public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual Time now() const = 0;
};

/// The real time of this machine.
class SystemClock final : public Clock {
  public:
    [[nodiscard]] Time now() const override;
};

/// A relation between real time and the time that a clock shows. The clock shows `origin` at real
/// time `real_origin`. The clock runs `factor` times as fast as real time.
struct TimeScale {
    Time origin;
    Time real_origin;
    double factor{1};

    /// Returns the time that the clock shows at `real`.
    [[nodiscard]] Time from_real(Time real) const;
    friend bool operator==(TimeScale const&, TimeScale const&) = default;
};

/// A clock that follows a TimeScale, such as the clock of a replay.
class ScaledClock final : public Clock {
  public:
    explicit ScaledClock(TimeScale scale) : scale_(scale) {}
    [[nodiscard]] Time now() const override { return scale_.from_real(SystemClock{}.now()); }

  private:
    TimeScale scale_;
};

[[nodiscard]] MonoTime monotonic_now();

/// Waits for `time`, or until a stop request. Returns whether there is none.
bool sleep_unless_stopped(std::stop_token const& stop, Millis time);

/// Returns for how long this machine has been suspended since its start. The monotonic clock does
/// not count this time.
[[nodiscard]] Millis suspended_time();

}  // namespace curtail
