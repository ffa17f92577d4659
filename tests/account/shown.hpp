// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a report shows of an account.
#include "report/document.hpp"
#include "report/page.hpp"
#include "report/summary.hpp"

namespace curtail::account::test {

inline std::string summary_text(Account const& account)
{
    return report::summary_text(report::document(account, std::nullopt));
}

inline std::string page_text(Account const& account)
{
    return report::page(report::document(account, std::nullopt), "");
}

}  // namespace curtail::account::test
