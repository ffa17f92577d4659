// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a report shows of an account.
#include <regex>

#include "bill/report/document.hpp"
#include "bill/report/page.hpp"
#include "bill/report/summary.hpp"

namespace curtail::account::test {

// The tables, and once more with each broken sentence on one line.
inline std::string summary_text(Account const& account)
{
    auto const text = report::summary_text(report::document(account, std::nullopt));
    return text + "\n" + std::regex_replace(text, std::regex("\n {2,4}(?=[^ ])"), " ");
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
