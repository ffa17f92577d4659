// SPDX-License-Identifier: Apache-2.0
#include "base/core/clock.hpp"

#include <time.h>

namespace curtail {
namespace {

Millis scaled(Millis d, double factor)
{
    return std::chrono::round<Millis>(std::chrono::duration<double, std::milli>(d) * factor);
}

Millis reading(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return Seconds(now.tv_sec) + std::chrono::floor<Millis>(std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace

Time SystemClock::now() const
{
    return std::chrono::floor<Millis>(std::chrono::system_clock::now());
}
Time TimeScale::from_real(Time real) const { return origin + scaled(real - real_origin, factor); }
Time TimeScale::to_real(Time shown) const
{
    return real_origin + scaled(shown - origin, 1 / factor);
}
MonoTime monotonic_now() { return std::chrono::floor<Millis>(std::chrono::steady_clock::now()); }

Millis suspended_time()
{
    // In this order, the difference is never negative.
    auto const without = reading(CLOCK_MONOTONIC);
    return reading(CLOCK_BOOTTIME) - without;
}

}  // namespace curtail
