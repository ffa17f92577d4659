// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/units.hpp"

namespace curtail {

/// A UTC time in milliseconds.
using Time = std::chrono::sys_time<Millis>;
/// A reading of the monotonic clock, for timers. Only differences have a meaning.
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, Millis>;

/// Parses ISO 8601 with a time zone: `2026-01-11T14:20Z`, `2026-01-11 14:20:05.250+00:00`. A time
/// without a zone is an error. Code `data`.
[[nodiscard]] Result<Time> parse_time(std::string_view text);
/// `2026-01-11T14:20:05.250Z`; without the fraction if it is zero.
[[nodiscard]] std::string format_time(Time time);
/// A duration for people: `2h05m`, `7m03s`, `12.3 s`.
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
