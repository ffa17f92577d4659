// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/time.hpp"
#include "base/core/units.hpp"

namespace curtail {

/// The carbon intensity of a region at one time.
struct SamplePoint {
    Time time;
    std::optional<GramsPerKwh> intensity;  ///< empty if there is no value for this time
    /// How long the value applies from `time` on, according to its source. Empty if the source does
    /// not say.
    std::optional<Millis> period{};
    friend bool operator==(SamplePoint const&, SamplePoint const&) = default;
};

/// The samples of one region. Each sample is later than the one before.
struct RegionSeries {
    RegionId region;
    std::vector<SamplePoint> points;
};

}  // namespace curtail
