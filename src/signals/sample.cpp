// SPDX-License-Identifier: Apache-2.0
#include "signals/sample.hpp"

#include <algorithm>

namespace curtail::signals {

char const* to_string(Kind kind) { return kind == Kind::marginal ? "marginal" : "average"; }

bool is_believable(GramsPerKwh intensity)
{
    return intensity >= least_intensity && intensity <= greatest_intensity;
}

std::optional<GramsPerKwh> accepted(Sample const& sample, Kind accepts)
{
    return sample.kind == accepts ? sample.intensity : std::nullopt;
}

std::optional<Sample> fresh(std::span<Sample const> samples, Time now, Policy const& policy)
{
    auto const next = std::upper_bound(samples.begin(), samples.end(), now,
                                       [](Time t, Sample const& s) { return t < s.time; });
    if (next == samples.begin()) return std::nullopt;
    auto const& newest = *std::prev(next);
    if (now >= newest.time + policy.max_age || !accepted(newest, policy.accepts))
        return std::nullopt;
    return newest;
}

}  // namespace curtail::signals
