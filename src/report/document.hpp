// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "account/account.hpp"
#include "core/json.hpp"

namespace curtail::report {

/// Makes the document `curtail.report/1` (docs/report.md), which contains every number of the page.
/// Long series are thinned for the charts; the sums come from the complete series. If
/// `generated_at` is empty, the document does not say when it was made.
[[nodiscard]] json::Object document(account::Account const& account,
                                    std::optional<Time> generated_at);

}  // namespace curtail::report
