// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "base/core/result.hpp"
#include "base/core/units.hpp"

namespace curtail {

/// A point in time in UTC, to the millisecond.
using Time = std::chrono::sys_time<Millis>;
/// A reading of the monotonic clock, for timers. Only the difference of two readings has a meaning.
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, Millis>;

/// Parses an ISO 8601 time with a time zone: `2026-01-11T14:20Z`, `2026-01-11 14:20:05.250+00:00`.
/// Fails with `data` if `text` is malformed or has no time zone.
[[nodiscard]] Result<Time> parse_time(std::string_view text);
/// Formats a time as `2026-01-11T14:20:05.250Z`. Omits the fraction if it is zero.
[[nodiscard]] std::string format_time(Time time);
/// Formats a duration for people. Writes `2h05m` from one hour on, `7m03s` from one minute on, and
/// `12.3 s` below.
[[nodiscard]] std::string format_duration(Millis duration);

[[nodiscard]] constexpr Time from_unix_ms(std::int64_t ms) { return Time{Millis{ms}}; }
[[nodiscard]] constexpr std::int64_t to_unix_ms(Time time)
{
    return time.time_since_epoch().count();
}
[[nodiscard]] constexpr double seconds_between(Time from, Time to)
{
    return FractionalSeconds(to - from).count();
}

}  // namespace curtail
