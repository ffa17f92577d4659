// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "core/json.hpp"
#include "http/client.hpp"
#include "signals/sample.hpp"

/// What WattTime's v3 answers mean; no I/O.
namespace curtail::signals::watttime {

inline constexpr char const* signal_type = "co2_moer";  ///< marginal operating emissions rate
inline constexpr char const* units =
    "lbs_co2_per_mwh";  ///< the only unit that is taken for an intensity
inline constexpr Seconds data_period{300};

/// The points of one answer of /v3/forecast or /v3/historical.
struct Points {
    std::vector<Sample> samples;        ///< in order of time, no two of one time, g/kWh
    std::vector<std::string> warnings;  ///< the provider's own words, printable
};

/// Reads points. `data` if anything is not as documented: other units (a signal-index is a
/// percentile, never an intensity), another region or signal, a time without zone, a value that is
/// neither number nor null or not believable.
[[nodiscard]] Result<Points> read_points(json::Value const& answer, RegionId const& region,
                                         std::string const& source);

/// The token in an answer of /login; `data` if there is none.
[[nodiscard]] Result<Secret> read_token(std::string const& body, std::string const& source);

/// What to do about an answer of a data endpoint.
enum class Verdict {
    good,       ///< status 200 and JSON
    log_in,     ///< not JSON, 401 or 403: the token may have expired
    try_later,  ///< 429 or 5xx
    no_access,  ///< 403 with the words of a scope error: this account may not see that
    unexpected  ///< anything else, with the provider's own words
};
struct Judged {
    Verdict verdict;
    json::Value answer;  ///< when good
    Error error;         ///< unless good: what to say if nothing else helps
};
[[nodiscard]] Judged judge(http::Response const& response, std::string const& source);
/// The failure in an answer of /login that is not 200.
[[nodiscard]] Error login_error(http::Response const& response, std::string const& source);

}  // namespace curtail::signals::watttime
