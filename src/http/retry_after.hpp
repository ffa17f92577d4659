// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string_view>

#include "core/time.hpp"

namespace curtail::http {

/// The wait that a header line `Retry-After: SECONDS` or `Retry-After: DATE` asks for (RFC 9110,
/// section 10.2.3), at most one day. Empty for other headers, for unreadable values and for times
/// not after `now`. (libcurl can report it only from 7.66.)
[[nodiscard]] std::optional<Seconds> parse_retry_after(std::string_view header_line, Time now);

}  // namespace curtail::http
