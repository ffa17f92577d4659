// SPDX-License-Identifier: Apache-2.0
#include "base/core/ids.hpp"

#include <algorithm>

#include "base/core/text.hpp"

namespace curtail {
namespace {

bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool is_plain_name(std::string_view text)
{
    return !text.empty() && text.size() <= 32 && is_alnum(text.front()) &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return is_alnum(c) || c == '_' || c == '-'; });
}

Result<SiteId> parse_site_id(std::string_view text)
{
    if (is_plain_name(text)) return SiteId{std::string(text)};
    return fail(
        ExitCode::config, "invalid site name \"" + printable(text) + "\"",
        "it must be 1 to 32 characters long, only letters, digits, '_' and '-', and start with "
        "a letter or digit");
}

}  // namespace curtail
