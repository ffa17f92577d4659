// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "bill/report/table.hpp"

namespace curtail::report {

/// Returns every table of the report for other programs (docs/report.md lists them). `document` is
/// that of document.hpp, with all events. Points in time are in UTC (ISO 8601), on the signal's
/// clock. Numbers are not rounded, and no row is left out.
[[nodiscard]] std::vector<Table> csv_tables(json::Value const& document);

}  // namespace curtail::report
