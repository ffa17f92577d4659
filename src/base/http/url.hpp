// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.hpp"

namespace curtail::http {

/// The parts of a URL that decide whether Curtail may request it.
struct Url {
    std::string scheme;           ///< lower case
    std::string host;             ///< lower case; an IPv6 address in brackets
    bool has_credentials{false};  ///< `user@` or `user:password@` before the host
    std::optional<int> port{};    ///< empty: the URL names none
};

/// Splits a URL of the form `SCHEME://[CREDENTIALS@]HOST[:PORT][/PATH][?QUERY]`. Returns an empty
/// optional for any other text.
///
/// The host must consist of letters, digits, '.' and '-', or be an IPv6 address in brackets. If
/// other characters were allowed, libcurl might read a URL differently than this function does.
/// Curtail does not use libcurl's own parser, `curl_url`, because libcurl 7.61 lacks it.
[[nodiscard]] std::optional<Url> parse_url(std::string_view text);

/// Tells whether `host` means this machine: `localhost`, `[::1]`, or an address in 127.0.0.0/8.
[[nodiscard]] bool is_loopback(std::string const& host);

/// Returns the URL without its query, which may hold secrets. Escapes unprintable characters.
[[nodiscard]] std::string without_query(std::string_view url);

/// Accepts an https URL to any host, and an http URL to the loopback interface (see is_loopback()).
/// If `allow_http` is true, accepts an http URL to any host too. Fails with `config` for any other
/// URL, and for a URL that contains credentials. The message begins with `what`, the operation that
/// failed.
[[nodiscard]] Result<Url> check_url(std::string_view url, std::string const& what,
                                    bool allow_http = false);

}  // namespace curtail::http
