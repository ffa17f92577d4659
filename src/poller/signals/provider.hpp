// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/result.hpp"
#include "run/samples/sample.hpp"

namespace curtail::signals {

/// What a provider knows about a region.
struct Answer {
    std::vector<samples::Sample> samples;  ///< sorted by time; no two have the same time
    /// The reason for which samples may be missing. It is empty if the provider knows of none.
    std::optional<Error> problem;
};

/// A source of samples. A failed request discards no known samples: the answer then has both the
/// known samples and a problem. A provider is not thread-safe.
class Provider {
  public:
    virtual ~Provider() = default;
    /// Returns the known samples of `region` in [from, to]. To evaluate a window from time t on,
    /// pass t minus the site's signal_max_age as `from`. The result then includes the sample that
    /// is valid at t, if one is known.
    [[nodiscard]] virtual Answer samples(RegionId const& region, Time from, Time to) = 0;
};

}  // namespace curtail::signals
