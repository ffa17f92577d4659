// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/core/json.hpp"
#include "base/http/client.hpp"

// Interprets responses of WattTime's API, v3, without any I/O. Of a good one,
// run/samples/watttime_points.hpp reads the values.

namespace curtail::signals::watttime {

inline constexpr Seconds data_period{300};  ///< WattTime has one value per period of this length

/// Moves a text out of a parsed object into a secret, and overwrites it there. Returns an empty
/// secret if the object has no such text.
[[nodiscard]] Secret take_secret(json::Value& object, char const* key);
/// Returns whether the server may answer a later attempt: status 429 or 5xx.
[[nodiscard]] bool is_busy(http::Response const& response);
/// Returns the token in a response of /login. Fails with `data` if the response has no token.
[[nodiscard]] Result<Secret> read_token(std::string const& body, std::string const& source);

/// What to do after a response of /v3/forecast, and the response's content or an error.
struct Interpretation {
    enum class Kind {
        good,  ///< status 200 and JSON: use it
        /// Status 401, status 403 without a scope error, or status 200 without JSON: the token may
        /// have expired.
        log_in,
        try_later,  ///< status 429 or 5xx
        no_access,  ///< status 403 with a scope error, i.e. an error text that contains `scope`:
                    ///< the account has no access to this region or signal
        unexpected  ///< anything else
    };
    Kind kind;
    json::Value content;  ///< set if `kind` is `good`
    Error error;          ///< set otherwise: the error to report if no retry helps
};
/// Decides what to do after a response. `source` names the response in messages.
[[nodiscard]] Interpretation interpret(http::Response const& response, std::string const& source);
/// Returns the error for a response of /login with a status other than 200.
[[nodiscard]] Error login_error(http::Response const& response, std::string const& source);

}  // namespace curtail::signals::watttime
