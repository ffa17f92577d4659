// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/core/ids.hpp"
#include "base/core/intensity.hpp"
#include "base/core/json.hpp"

namespace curtail::samples {

/// A kind of carbon intensity. Marginal intensity is the emissions of one more kWh; average
/// intensity is all emissions divided by all kWh. Never compare a marginal intensity with an
/// average intensity.
enum class SignalType { marginal, average };
[[nodiscard]] char const* to_string(SignalType type);
/// Returns the kind with the name `name`, or an empty optional if there is none.
[[nodiscard]] std::optional<SignalType> signal_type_named(std::string_view name);

/// The unit in which WattTime sends values.
inline constexpr char const* pounds_per_mwh = "lbs_co2_per_mwh";

/// What a provider sent, from which a sample was made.
struct SampleOrigin {
    std::string endpoint;         ///< address without parameters
    std::string unit;             ///< of `value`
    std::optional<double> value;  ///< as received; empty if the provider had none
    Time received;                ///< when, by the clock of the machine that asked
    std::string model{};          ///< version of the provider's model; empty if it names none
    std::string licence{};        ///< under which the provider lets others have the value
    /// The provider's whole answer, compressed with gzip, in base64. Empty if that is longer than
    /// `longest_answer`, or the answer itself is longer than `longest_body`.
    std::string answer{};
    static constexpr std::size_t longest_answer = 4096;
    static constexpr std::size_t longest_body = std::size_t{16} * 1024;
    friend bool operator==(SampleOrigin const&, SampleOrigin const&) = default;
};
/// Adds the members to a JSON object, with the keys of signals.jsonl.
void add_origin(json::Object& to, SampleOrigin const& origin);
/// Reads what add_origin() wrote. Returns an empty optional if it is not there, or damaged.
[[nodiscard]] std::optional<SampleOrigin> origin_in(json::Object const& from);

/// A region's carbon intensity from `time` on, with its provenance.
struct Sample : SamplePoint {
    std::string provider;  ///< `watttime` or `trace`
    SignalType type{SignalType::marginal};
    std::optional<Time> generated_at;  ///< when the provider computed the value; empty if unknown
    /// Whether the provider marks the value as estimated. Empty if the provider does not say.
    std::optional<bool> estimated{};
    std::optional<SampleOrigin> origin{};  ///< empty if unknown; readers of a log leave it empty
    friend bool operator==(Sample const&, Sample const&) = default;
};

/// Returns the line of signals.jsonl with a region's sample.
[[nodiscard]] json::Object line_of(RegionId const& region, Sample const& sample);

/// Bounds of a plausible intensity. A value outside has a wrong unit or a misplaced decimal point.
inline constexpr GramsPerKwh min_intensity{-2000};
inline constexpr GramsPerKwh max_intensity{5000};
[[nodiscard]] bool is_plausible(GramsPerKwh intensity);

/// Returns the sample's intensity if the sample has the type `type`, however old the sample is.
/// Returns an empty optional if the sample has another type or no value.
[[nodiscard]] std::optional<GramsPerKwh> intensity_of_type(Sample const& sample, SignalType type);

}  // namespace curtail::samples
