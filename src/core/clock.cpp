// SPDX-License-Identifier: Apache-2.0
#include "core/clock.hpp"

namespace curtail {
namespace {

Millis scaled(Millis d, double factor)
{
    return std::chrono::round<Millis>(std::chrono::duration<double, std::milli>(d) * factor);
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

}  // namespace curtail
