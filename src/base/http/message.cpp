// SPDX-License-Identifier: Apache-2.0
#include "base/http/message.hpp"

#include <curl/curl.h>
#include <strings.h>

#include <algorithm>
#include <array>

namespace curtail::http {

char const* name_of(Method method)
{
    static constexpr std::array names{"GET", "HEAD", "PUT", "POST", "DELETE"};
    return names.at(static_cast<std::size_t>(method));
}

std::string_view Response::header(std::string_view name) const
{
    auto const found =
        std::find_if(headers.rbegin(), headers.rend(), [&](HeaderField const& header) {
            return header.name.size() == name.size() &&
                   strncasecmp(header.name.data(), name.data(), name.size()) == 0;
        });
    return found == headers.rend() ? std::string_view() : std::string_view(found->value);
}

std::optional<Time> parse_date(std::string_view text)
{
    auto const seconds = curl_getdate(std::string(text).c_str(), nullptr);
    if (seconds == -1) return std::nullopt;
    return from_unix_ms(static_cast<std::int64_t>(seconds) * 1000);
}

}  // namespace curtail::http
