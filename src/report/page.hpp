// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "account/account.hpp"
#include "core/json.hpp"

namespace curtail::report {

/// Text that may stand anywhere in HTML: & < > " ' as entities, control characters as \xNN.
[[nodiscard]] std::string escape_html(std::string_view text);

/// The main figures as plain tables, for readers and programs without JavaScript.
[[nodiscard]] std::string static_tables(account::Account const& account);

/// One self-contained HTML page: style, scripts, plotly.js and the document are inside, and a
/// content security policy in it allows no request and no script but these two, by their digests.
/// `plotly` is the text of plotly.min.js.
[[nodiscard]] std::string page(json::Object const& document, account::Account const& account,
                               std::string plotly);

}  // namespace curtail::report
