// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "report/reference_logs.hpp"
#include "signals/trace.hpp"

namespace curtail::report {

/// The trace by region, in its own order.
[[nodiscard]] std::vector<RegionTrace> by_region(signals::Trace const& trace);

}  // namespace curtail::report
