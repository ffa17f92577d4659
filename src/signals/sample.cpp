// SPDX-License-Identifier: Apache-2.0
#include "signals/sample.hpp"

namespace curtail::signals {

char const* to_string(SignalType type)
{
    return type == SignalType::marginal ? "marginal" : "average";
}

bool is_plausible(GramsPerKwh intensity)
{
    return intensity >= min_intensity && intensity <= max_intensity;
}

std::optional<GramsPerKwh> intensity_of_type(Sample const& sample, SignalType type)
{
    return sample.type == type ? sample.intensity : std::nullopt;
}

}  // namespace curtail::signals
