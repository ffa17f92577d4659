// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/core/intensity.hpp"

namespace curtail::samples {

/// A kind of carbon intensity. Marginal intensity is the emissions of one more kWh; average
/// intensity is all emissions divided by all kWh. Never compare a marginal intensity with an
/// average intensity.
enum class SignalType { marginal, average };
[[nodiscard]] char const* to_string(SignalType type);
/// Returns the kind with the name `name`, or an empty optional if there is none.
[[nodiscard]] std::optional<SignalType> signal_type_named(std::string_view name);

/// A region's carbon intensity from `time` on, with its provenance.
struct Sample : SamplePoint {
    std::string provider;  ///< `watttime` or `trace`
    SignalType type{SignalType::marginal};
    std::optional<Time> generated_at;  ///< when the provider computed the value; empty if unknown
    /// Whether the provider marks the value as estimated. Empty if the provider does not say.
    std::optional<bool> estimated{};
    friend bool operator==(Sample const&, Sample const&) = default;
};

/// Bounds of a plausible intensity. A value outside has a wrong unit or a misplaced decimal point.
inline constexpr GramsPerKwh min_intensity{-2000};
inline constexpr GramsPerKwh max_intensity{5000};
[[nodiscard]] bool is_plausible(GramsPerKwh intensity);

/// Returns the sample's intensity if the sample has the type `type`, however old the sample is.
/// Returns an empty optional if the sample has another type or no value.
[[nodiscard]] std::optional<GramsPerKwh> intensity_of_type(Sample const& sample, SignalType type);

}  // namespace curtail::samples
