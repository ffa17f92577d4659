// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "account/account.hpp"
#include "core/json.hpp"

namespace curtail::report {

/// The document `curtail.report/1` (docs/report.md): every figure of the page. Thinned for charts,
/// after all sums. `generated_at`: when it was made; nothing leaves it out.
[[nodiscard]] json::Object document(account::Account const& account,
                                    std::optional<Time> generated_at);

}  // namespace curtail::report
