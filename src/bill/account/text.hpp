// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <functional>
#include <string>

#include "bill/account/account.hpp"

namespace curtail::account {

/// Formats `value` with its digits in groups of three: `1,234,567`.
[[nodiscard]] std::string grouped(std::int64_t value);

/// Formats a setting of the sites, which `text_of` writes for one site. Writes a single text if it
/// is the same for all sites. Otherwise writes each site's text, followed by the site's label.
[[nodiscard]] inline std::string each_site(
    Account const& a, std::function<std::string(SiteAccount const&)> const& text_of)
{
    std::string out;
    bool is_same = true;
    for (auto const& site : a.sites) {
        is_same = is_same && text_of(site) == text_of(a.sites.front());
        out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", text_of(site), site.label);
    }
    return is_same && !a.sites.empty() ? text_of(a.sites.front()) : out;
}

/// Formats a number that is the same setting of each site.
template <class T>
[[nodiscard]] std::string each_site(Account const& a, T SiteAccount::*setting)
{
    return each_site(a, [&](SiteAccount const& site) {
        if constexpr (requires { (site.*setting).value; })
            return fmt::format("{:g}", (site.*setting).value);
        else return fmt::format("{:g}", site.*setting);
    });
}

}  // namespace curtail::account
