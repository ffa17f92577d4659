// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "core/intensity.hpp"

namespace curtail::signals {

/// Marginal intensity: emissions caused by one more kWh. Average intensity: all emissions divided
/// by all kWh. The two must never be compared.
enum class SignalType { marginal, average };
[[nodiscard]] char const* to_string(SignalType type);

/// A region's carbon intensity from `time` on.
struct Sample : Reading {
    std::string provider;  ///< `watttime`, `trace`
    SignalType type{SignalType::marginal};
    std::optional<bool> estimated;     ///< whether the provider imputed the value, if known
    std::optional<Time> generated_at;  ///< when the provider computed it, if known
    friend bool operator==(Sample const&, Sample const&) = default;
};

/// Bounds of a plausible intensity. Outside, the unit or the decimal point is wrong.
inline constexpr GramsPerKwh min_intensity{-2000};
inline constexpr GramsPerKwh max_intensity{5000};
[[nodiscard]] bool is_plausible(GramsPerKwh intensity);

/// The sample's intensity if it has the type `accepts`. Ignores the sample's age.
[[nodiscard]] std::optional<GramsPerKwh> accepted(Sample const& sample, SignalType accepts);

}  // namespace curtail::signals
