// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "account/account.hpp"
#include "core/json.hpp"

namespace curtail::report {

/// Text that is safe anywhere in HTML: & < > " ' as entities, control characters as \xNN.
[[nodiscard]] std::string escape_html(std::string_view text);

/// The main figures as plain tables, for readers and programs without JavaScript.
[[nodiscard]] std::string static_tables(account::Account const& account);

/// One HTML page that needs no other file and no network: style, scripts, the document, and
/// plotly.js gzip-compressed. Its content security policy forbids requests, and allows only its own
/// script and plotly.js, by their digests.
/// `plotly` is the text of plotly.min.js.
[[nodiscard]] std::string page(json::Object const& document, account::Account const& account,
                               std::string plotly);

}  // namespace curtail::report
