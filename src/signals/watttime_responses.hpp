// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/json.hpp"
#include "http/client.hpp"
#include "signals/sample.hpp"

/// Interprets responses of WattTime's API v3. No I/O.
namespace curtail::signals::watttime {

inline constexpr char const* signal_type = "co2_moer";   ///< marginal operating emissions rate
inline constexpr char const* units = "lbs_co2_per_mwh";  ///< the only accepted unit
inline constexpr Seconds data_period{300};               ///< validity of a value

/// The points of a response of /v3/forecast.
struct Points {
    std::vector<Sample> samples;        ///< sorted by time, one per time, in g/kWh
    std::vector<std::string> warnings;  ///< texts of the provider, printable
};

/// Reads points. Code `data` if anything differs from the API's documentation: other units (a
/// signal-index is a percentile, not an intensity), another region or signal, a time without zone,
/// or an implausible value.
[[nodiscard]] Result<Points> read_points(json::Value const& response, RegionId const& region,
                                         std::string const& source);

/// The token in a response of /login. Code `data` if it has none.
[[nodiscard]] Result<Secret> read_token(std::string const& body, std::string const& source);

/// What to do after a response of a data endpoint.
enum class Verdict {
    good,       ///< status 200 and JSON: use it
    log_in,     ///< not JSON, 401 or 403: the token may have expired
    try_later,  ///< 429 or 5xx
    no_access,  ///< 403 with a scope error: the account may not access this
    unexpected  ///< anything else
};
struct Judged {
    Verdict verdict;
    json::Value content;  ///< if good
    Error error;          ///< unless good: the error to report if no retry helps
};
[[nodiscard]] Judged judge(http::Response const& response, std::string const& source);
/// The error for a response of /login whose status is not 200.
[[nodiscard]] Error login_error(http::Response const& response, std::string const& source);

}  // namespace curtail::signals::watttime
