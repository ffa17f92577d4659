// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/core/ids.hpp"
#include "base/core/json.hpp"
#include "base/core/result.hpp"
#include "run/samples/sample.hpp"

// The values in a response of WattTime's API, v3. The poller reads them when it receives one, and
// the readers of a log compare them with its lines.

namespace curtail::samples::watttime {

inline constexpr char const* provider = "watttime";     ///< Sample::provider
inline constexpr char const* signal_type = "co2_moer";  ///< marginal operating emissions rate
inline constexpr char const* units = pounds_per_mwh;    ///< the only accepted unit
/// WattTime's terms let nobody publish its values.
inline constexpr char const* licence = "WattTime Terms of Service (watttime.org/terms-of-service)";
/// Responses that state a longer period of a value are taken to state none.
inline constexpr Seconds longest_period{24 * 3600};

/// The points in a response of /v3/forecast.
struct Points {
    /// Sorted by time; no two have the same time. Their origins lack endpoint, time and answer.
    std::vector<Sample> samples;
    std::vector<std::string> warnings;  ///< WattTime's warnings, made printable
};

/// Reads the points of a response. Fails with `data` if the response differs from the documentation
/// of the API. Examples are other units, another region or signal, a time without a time zone, and
/// an implausible value. `source` names the response in messages.
[[nodiscard]] Result<Points> read_points(json::Value const& response, RegionId const& region,
                                         std::string const& source);

}  // namespace curtail::samples::watttime
