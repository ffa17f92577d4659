// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "account/account.hpp"
#include "core/json.hpp"

namespace curtail::report {

/// The document `curtail.report/1` (docs/report.md): every figure of the page. Series are thinned
/// for charts after all sums. Without `generated_at` the document does not say when it was made.
[[nodiscard]] json::Object document(account::Account const& account,
                                    std::optional<Time> generated_at);

}  // namespace curtail::report
