// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a report shows of an account.
#include "bill/report/document.hpp"
#include "bill/report/page.hpp"
#include "bill/report/summary.hpp"

namespace curtail::account::test {

inline std::string summary_text(Account const& account)
{
    return report::summary_text(report::document(account, std::nullopt));
}

// The page, with ordinary spaces between numbers and their units.
inline std::string page_text(Account const& account)
{
    auto text = report::page(report::document(account, std::nullopt), "");
    std::string const fixed_space = "\u00a0";
    for (auto at = text.find(fixed_space); at != std::string::npos; at = text.find(fixed_space))
        text.replace(at, fixed_space.size(), " ");
    return text;
}

}  // namespace curtail::account::test
