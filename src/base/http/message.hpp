// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/pieces.hpp"
#include "base/core/secret.hpp"
#include "base/core/time.hpp"

namespace curtail::http {

enum class Method { get, head, put, post, remove };  // in the order of name_of()'s table
/// Returns the method's name in HTTP, for example "DELETE" for Method::remove.
[[nodiscard]] char const* name_of(Method method);

/// One header of a request or response.
struct HeaderField {
    std::string name;
    std::string value;
};

/// A server's response. Client::send() returns it even if the status reports an error.
struct Response {
    long status{};
    std::string body{};
    std::vector<HeaderField> headers{};
    /// How long the Retry-After header asks the client to wait, counted from the header's arrival.
    std::optional<Seconds> retry_after{};

    /// Returns whether the status is 200 to 299.
    [[nodiscard]] bool is_success() const { return status >= 200 && status < 300; }
    /// Returns the value of the last header of this name, in any letter case. Returns an empty
    /// text if there is none.
    [[nodiscard]] std::string_view header(std::string_view name) const;
};

/// Receives the consecutive pieces of a body. `head` has the status and all headers of the
/// response. Returns false to end the transfer.
using Sink = std::function<bool(Response const& head, std::span<std::byte const> piece)>;

/// An HTTP request. The caller owns the secrets and the bytes of the body.
struct Request {
    /// https; or http to the loopback interface, or to any host if `allow_http` is true. Without
    /// user name and password.
    std::string url;
    std::string username;             ///< for HTTP Basic authentication
    Secret const* password{nullptr};  ///< null: no HTTP Basic authentication
    /// Token to send as `Authorization: Bearer`. Ignored if `password` is not null.
    Secret const* bearer{nullptr};
    Millis deadline{10'000};  ///< for the whole request, from name resolution to the last byte
    std::size_t body_limit{std::size_t{8} << 20};  ///< largest accepted body, in bytes
    Method method{Method::get};
    std::vector<HeaderField>
        headers{};  ///< the client adds only Host, User-Agent and Content-Length
    Pieces body{};  ///< for `put` and `post`
    /// Receives the body of a response of status 200 to 299, however long it is. If empty, the
    /// body goes to Response::body.
    Sink sink{};
    /// Gives up once no byte has arrived or left for this long. Zero: only at the deadline.
    Millis stall_limit{0};
    std::stop_token cancel{};  ///< ends the transfer within a second of a stop request
    bool allow_http{false};
    /// Sends the request over a new connection. libcurl repeats a request by itself if a connection
    /// that it has used before breaks without a response, although the server may have carried the
    /// request out. It never does so on a new connection.
    bool once{false};
};

/// Largest accepted size of all HTTP headers of a response together, in bytes.
inline constexpr std::size_t header_limit = std::size_t{32} << 10;

/// Parses a date as HTTP headers show it: `Sun, 06 Nov 1994 08:49:37 GMT`. Returns an empty
/// optional for any other text.
[[nodiscard]] std::optional<Time> parse_date(std::string_view text);

}  // namespace curtail::http
