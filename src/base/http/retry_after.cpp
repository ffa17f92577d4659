// SPDX-License-Identifier: Apache-2.0
#include "base/http/retry_after.hpp"

#include <curl/curl.h>
#include <strings.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/core/text.hpp"

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
    std::int64_t seconds = 0;
    auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (error == std::errc{} && end == value.data() + value.size()) return positive(seconds);
    auto const date = curl_getdate(std::string(value).c_str(), nullptr);
    if (date == -1) return std::nullopt;
    return positive(static_cast<std::int64_t>(date) - to_unix_ms(now) / 1000);
}

}  // namespace curtail::http
