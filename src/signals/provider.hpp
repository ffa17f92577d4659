// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "signals/sample.hpp"

namespace curtail::signals {

/// What a provider knows about a region.
struct Answer {
    std::vector<Sample> samples;  ///< sorted by time, one per time
    /// Why samples may be missing: `temporary`, `permission`, `config` or `data`.
    std::optional<Error> problem;
};

/// A source of samples. A failed request discards no known samples: the answer then has both
/// samples and a problem, and the samples expire on their own. Not thread-safe.
class Provider {
  public:
    virtual ~Provider() = default;
    /// Known samples of `region` in [from, to]. To evaluate a window up to time u, pass
    /// u - max_age as `from`: the sample valid at u is then included.
    [[nodiscard]] virtual Answer samples(RegionId const& region, Time from, Time to) = 0;
};

}  // namespace curtail::signals
