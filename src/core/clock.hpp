// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "core/time.hpp"

namespace curtail {

/// The source of time for adapters. Decisions never hold a clock: they receive its readings.
class Clock {
  public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual Time now() const = 0;
};

class SystemClock final : public Clock {
  public:
    [[nodiscard]] Time now() const override;
};

/// Shifted and scaled real time: shows `origin` at real time `real_origin`, and then runs `factor`
/// times as fast as real time.
struct TimeScale {
    Time origin;
    Time real_origin;
    double factor{1};

    [[nodiscard]] Time from_real(Time real) const;
    [[nodiscard]] Time to_real(Time shown) const;
    friend bool operator==(TimeScale const&, TimeScale const&) = default;
};

class ScaledClock final : public Clock {
  public:
    explicit ScaledClock(TimeScale scale) : scale_(scale) {}
    [[nodiscard]] Time now() const override { return scale_.from_real(SystemClock{}.now()); }

  private:
    TimeScale scale_;
};

[[nodiscard]] MonoTime mono_now();

/// The time limit of an operation, in real time from its construction.
class Deadline {
  public:
    explicit Deadline(Millis total) : end_(mono_now() + total) {}
    [[nodiscard]] Millis left() const { return std::max(Millis{0}, end_ - mono_now()); }

  private:
    MonoTime end_;
};

}  // namespace curtail
