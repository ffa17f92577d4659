// SPDX-License-Identifier: Apache-2.0
#include "base/core/clock.hpp"

#include <time.h>

#include <condition_variable>
#include <mutex>

namespace curtail {
namespace {

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
Time TimeScale::from_real(Time real) const
{
    std::chrono::duration<double, std::milli> const passed(real - real_origin);
    return origin + std::chrono::round<Millis>(passed * factor);
}
MonoTime monotonic_now() { return std::chrono::floor<Millis>(std::chrono::steady_clock::now()); }

bool sleep_unless_stopped(std::stop_token const& stop, Millis time)
{
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait_for(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
}

Millis suspended_time()
{
    // In this order, the difference is never negative.
    auto const without = reading(CLOCK_MONOTONIC);
    return reading(CLOCK_BOOTTIME) - without;
}

}  // namespace curtail
