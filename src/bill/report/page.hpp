// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/core/json.hpp"

namespace curtail::report {

/// Writes one HTML page of the document (document.hpp) that needs no other file and no network. The
/// page shows all tables without a script. It contains its own style sheet and script, `document`,
/// and plotly.js. Only plotly.js is compressed, with gzip. The page's content security policy
/// forbids all requests. The policy allows two scripts, which it identifies by their digests: the
/// page's own script and plotly.js. `plotly` is the content of plotly.min.js.
[[nodiscard]] std::string page(json::Value const& document, std::string plotly);

}  // namespace curtail::report
