// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/core/json.hpp"
#include "bill/account/account.hpp"

namespace curtail::report {

/// Makes the document `curtail.report/1` (docs/report.md), which contains every number of the
/// report. Long series are thinned for the charts; the sums come from the complete series. If
/// `generated_at` is empty, the document does not say when it was made.
[[nodiscard]] json::Object document(account::Account const& account,
                                    std::optional<Time> generated_at);

/// Makes the document's entry `report`: this program's version and the time, if it is not empty.
[[nodiscard]] json::Object written_by(std::optional<Time> generated_at);

/// Leaves out events in the middle if there are many, so that the page of a very long run stays
/// small enough to open.
[[nodiscard]] json::Object shortened(json::Object document);

}  // namespace curtail::report
