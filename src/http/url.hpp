// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace curtail::http {

/// The parts of a URL that decide whether Curtail may request it.
struct Url {
    std::string scheme;           ///< lower case
    std::string host;             ///< lower case; an IPv6 address in brackets
    bool has_credentials{false};  ///< `user@` or `user:password@` before the host
};

/// Splits `SCHEME://[CREDENTIALS@]HOST[:PORT][/PATH][?QUERY]`. Empty for anything else, and for
/// hosts with characters other than letters, digits, '.' and '-' (or those of an IPv6 address):
/// libcurl must not read a URL differently than this function. (libcurl's own parser, `curl_url`,
/// needs 7.62.)
[[nodiscard]] std::optional<Url> parse_url(std::string_view text);

/// 127.0.0.0/8, [::1] and `localhost`.
[[nodiscard]] bool is_loopback(std::string const& host);

/// The URL without its query, printable: a query may hold secrets.
[[nodiscard]] std::string without_query(std::string_view url);

/// Accepts https to any host and http to the loopback interface, without credentials. Other URLs
/// give an error with code `config`; `what` says which operation failed.
[[nodiscard]] Result<Url> check_url(std::string_view url, std::string const& what);

}  // namespace curtail::http
