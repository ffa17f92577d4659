// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

#include "base/core/time.hpp"

namespace curtail::http {

/// Parses a header line `Retry-After: SECONDS` or `Retry-After: DATE` (RFC 9110, section 10.2.3).
/// Returns the time to wait, counted from `now`. A wait of more than one day becomes one day.
/// Returns an empty optional for any other header, an unreadable value, or a time that is not after
/// `now`. Curtail parses this header itself because libcurl before 7.66 does not.
[[nodiscard]] std::optional<Seconds> parse_retry_after(std::string_view header_line, Time now);

}  // namespace curtail::http
