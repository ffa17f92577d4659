// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/core/json.hpp"

namespace curtail::report {

/// Returns the text that curtail-report prints of the document (document.hpp). The text begins with
/// the run's name and status. Then come tables: when windows opened and closed, the sites' bills,
/// the sites' work, latencies, and always-on training. Statements for auditors follow, then lines
/// about commits and loss. Control characters in names and reasons are escaped.
[[nodiscard]] std::string summary_text(json::Value const& document);

/// Returns the text that curtail-report prints of the document of arXiv:2602.22760: the published
/// numbers with 12 significant digits, and the accounting rule.
[[nodiscard]] std::string published_text(json::Value const& document);

}  // namespace curtail::report
