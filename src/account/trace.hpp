// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "core/ids.hpp"
#include "energy/intensity.hpp"
#include "signals/trace.hpp"

namespace curtail::account {

/// The intensity of one region.
struct RegionTrace {
    RegionId region;
    std::vector<energy::IntensityPoint> points;
};

/// The trace by region, in its own order.
[[nodiscard]] std::vector<RegionTrace> by_region(signals::Trace const& trace);

}  // namespace curtail::account
