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
    std::vector<Sample> samples;   ///< in order of time, no two of one time
    std::optional<Error> trouble;  ///< why there may be less than there should be: `temporary`,
                                   ///< `permission`, `config` or `data`
};

/// Where samples come from. Never throws away what it knew because it cannot ask: trouble stands
/// beside the samples, which go stale by themselves. One thread at a time.
class Provider {
  public:
    virtual ~Provider() = default;
    /// What is known of `region` in [from, to]. A window evaluated up to u asks from u - max_age,
    /// so that the sample in force at u is in it.
    [[nodiscard]] virtual Answer samples(RegionId const& region, Time from, Time to) = 0;
};

}  // namespace curtail::signals
