// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "base/core/result.hpp"
#include "base/core/units.hpp"
#include "base/http/message.hpp"

// What a failed request means: pure functions of the response.

namespace curtail::s3 {

/// The reason for which a request failed, and what may help.
struct Failure {
    /// What to change before the same request is sent again.
    enum class Remedy {
        none,       ///< the request would fail again
        wait,       ///< nothing: the server may recover
        slow_down,  ///< send fewer requests at a time
        set_clock,  ///< sign with the server's time
        renew_key,  ///< sign with other credentials, if there are new ones
    };
    Error error;
    Remedy remedy{Remedy::none};
    std::optional<Seconds> retry_after{};  ///< how long the server asks to wait
};

/// Tells whether the response settles the request: status 200 to 299 without an error in the body,
/// 304, 412, 416, or 404 with the code NoSuchKey or NoSuchUpload. Any other 404 may come from a
/// proxy or load balancer. A response to HEAD has no code: its 404 counts as an answer, which the
/// caller must confirm with a GET.
[[nodiscard]] bool is_answer(http::Method method, http::Response const& response);
/// Returns the meaning of a response that is no answer, or not the expected one. `what` is the
/// operation that failed.
[[nodiscard]] Failure failure_of(http::Response const& response, std::string const& what);
/// Returns the meaning of an error of http::Client::send(). A response that is too large or does
/// not fit the request becomes `protocol`: the object itself may be good.
[[nodiscard]] Failure failure_of(Error const& error, std::string const& what);

/// Returns how long to wait before attempt number `attempt` (2, 3 and so on): 0.1 s, doubled with
/// each attempt, at most 5 s. `random`, from 0 to 1, takes up to half of it away, so that clients
/// do not return together. If the server asks for more, returns that, at most 30 s.
[[nodiscard]] Millis pause_before(int attempt, double random, std::optional<Seconds> retry_after);

}  // namespace curtail::s3
