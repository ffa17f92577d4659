// SPDX-License-Identifier: Apache-2.0
#include "base/http/retry_after.hpp"

#include <strings.h>

#include <algorithm>

#include "base/core/text.hpp"
#include "base/http/message.hpp"

namespace curtail::http {
namespace {

constexpr std::string_view name = "retry-after:";
constexpr std::int64_t longest = 86'400;

std::optional<Seconds> positive(std::int64_t seconds)
{
    return seconds > 0 ? std::optional(Seconds{std::min(seconds, longest)}) : std::nullopt;
}

}  // namespace

std::optional<Seconds> parse_retry_after(std::string_view line, Time now)
{
    if (line.size() <= name.size() || strncasecmp(line.data(), name.data(), name.size()) != 0)
        return std::nullopt;
    auto const value = trim(line.substr(name.size()));
    if (auto const seconds = parse_number<std::int64_t>(value)) return positive(*seconds);
    auto const date = parse_date(value);
    if (!date) return std::nullopt;
    return positive(to_unix_ms(*date) / 1000 - to_unix_ms(now) / 1000);
}

}  // namespace curtail::http
