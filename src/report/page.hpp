// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "core/json.hpp"

namespace curtail::report {

/// Escapes `text` for the content of an HTML element or for a quoted attribute. The characters
/// & < > " ' become entities, and control characters become \xNN.
[[nodiscard]] std::string escape_html(std::string_view text);

/// Writes the main numbers as plain HTML tables, for readers and programs without JavaScript.
[[nodiscard]] std::string static_tables(json::Value const& document);

/// Writes one HTML page that needs no other file and no network. The page contains its own style
/// sheet and script, static_tables(), `document`, and plotly.js. Only plotly.js is compressed, with
/// gzip. The page's content security policy forbids all requests. The policy allows two scripts,
/// which it identifies by their digests: the page's own script and plotly.js. `plotly` is the
/// content of plotly.min.js.
[[nodiscard]] std::string page(json::Value const& document, std::string plotly);

}  // namespace curtail::report
