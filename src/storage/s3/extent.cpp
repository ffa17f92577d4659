// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/extent.hpp"

#include <fmt/format.h>

#include "base/core/text.hpp"

namespace curtail::s3 {

std::optional<Extent> extent_of(http::Response const& response)
{
    if (response.status == 200) {
        auto const whole = leading_integer(response.header("content-length"));
        return whole ? std::optional(Extent{0, *whole}) : std::nullopt;
    }
    constexpr std::string_view unit = "bytes ";
    auto const text = response.header("content-range");
    auto const slash = text.find('/');
    if (response.status != 206 || !text.starts_with(unit) || slash == text.npos)
        return std::nullopt;
    auto const first = leading_integer(text.substr(unit.size()));
    auto const whole = leading_integer(text.substr(slash + 1));
    if (!first || !whole || *first < 0 || *whole < *first) return std::nullopt;
    return Extent{*first, *whole};
}

std::string range_of(std::int64_t first, std::int64_t count)
{
    return fmt::format("bytes={}-{}", first, first + count - 1);
}

}  // namespace curtail::s3
