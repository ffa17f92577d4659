// SPDX-License-Identifier: Apache-2.0
#include "run/samples/sample.hpp"

namespace curtail::samples {

char const* to_string(SignalType type)
{
    return type == SignalType::marginal ? "marginal" : "average";
}

std::optional<SignalType> signal_type_named(std::string_view name)
{
    for (auto const type : {SignalType::marginal, SignalType::average})
        if (name == to_string(type)) return type;
    return std::nullopt;
}

bool is_plausible(GramsPerKwh intensity)
{
    return intensity >= min_intensity && intensity <= max_intensity;
}

std::optional<GramsPerKwh> intensity_of_type(Sample const& sample, SignalType type)
{
    return sample.type == type ? sample.intensity : std::nullopt;
}

}  // namespace curtail::samples
