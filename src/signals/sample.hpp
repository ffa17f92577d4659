// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"

namespace curtail::signals {

/// What an intensity tells: what one more kWh causes, or what all kWh together caused. They must
/// never be compared with each other.
enum class SignalType { marginal, average };
[[nodiscard]] char const* to_string(SignalType type);

/// What a provider says about a region from `time` on.
struct Sample {
    Time time;
    std::optional<GramsPerKwh> intensity;  ///< nothing: the provider has no value
    std::string provider;                  ///< `watttime`, `trace`
    SignalType type{SignalType::marginal};
    std::optional<bool> estimated;     ///< imputed or modelled by the provider, if it tells
    std::optional<Time> generated_at;  ///< when the provider made it, if it tells
    friend bool operator==(Sample const&, Sample const&) = default;
};

/// What bounds an intensity that is believed: outside of it a unit or a decimal point is wrong.
inline constexpr GramsPerKwh least_intensity{-2000};
inline constexpr GramsPerKwh greatest_intensity{5000};
[[nodiscard]] bool is_believable(GramsPerKwh intensity);

/// The sample's intensity if the policy accepts its kind; age is not looked at.
[[nodiscard]] std::optional<GramsPerKwh> accepted(Sample const& sample, SignalType accepts);

}  // namespace curtail::signals
