// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "bill/account/account.hpp"

namespace curtail::account {

/// Formats `value` with its digits in groups of three: `1,234,567`.
[[nodiscard]] std::string grouped(std::int64_t value);

/// Formats a setting of the sites. Writes a single value if it is the same for all sites. Otherwise
/// writes each site's value, followed by the site's label.
template <class T>
[[nodiscard]] std::string each_site(Account const& a, T SiteAccount::*setting)
{
    auto const plain = [](auto const& value) {
        if constexpr (requires { value.value; }) return value.value;
        else return value;
    };
    bool const same = std::all_of(a.sites.begin(), a.sites.end(), [&](SiteAccount const& s) {
        return s.*setting == a.sites.front().*setting;
    });
    if (same && !a.sites.empty()) return fmt::format("{:g}", plain(a.sites.front().*setting));
    std::string out;
    for (auto const& site : a.sites)
        out +=
            fmt::format("{}{:g} ({})", out.empty() ? "" : ", ", plain(site.*setting), site.label);
    return out;
}

}  // namespace curtail::account
