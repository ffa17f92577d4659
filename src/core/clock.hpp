// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/time.hpp"

namespace curtail {

/// Where the edge gets its time from. Decisions never hold one: they are given its readings.
class Clock {
  public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual Time now() const = 0;
    /// How many seconds of this clock pass in one real second; 1 for a real one.
    [[nodiscard]] virtual double speed() const = 0;
};

class SystemClock final : public Clock {
  public:
    [[nodiscard]] Time now() const override;
    [[nodiscard]] double speed() const override { return 1; }
};

/// Real time, shifted and sped up: at real moment `real_origin` it shows `origin`, and runs
/// `factor` times as fast from there.
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
    [[nodiscard]] double speed() const override { return scale_.factor; }

  private:
    TimeScale scale_;
};

[[nodiscard]] MonoTime mono_now();

}  // namespace curtail
