// SPDX-License-Identifier: Apache-2.0
#include "base/http/url.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include "base/core/text.hpp"

namespace curtail::http {
namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view host_characters = "abcdefghijklmnopqrstuvwxyz0123456789.-";

bool consists_of(std::string_view text, std::string_view characters)
{
    return text.find_first_not_of(characters) == std::string_view::npos;
}

bool is_visible_ascii(std::string_view text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_host(std::string const& host)
{
    in6_addr address{};
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1;
    return !host.empty() && consists_of(host, host_characters);
}

// Returns where the port begins, i.e. its colon, or the end of the text.
std::size_t end_of_host(std::string_view host_and_port)
{
    auto const bracket = host_and_port.rfind(']');
    auto const colon = host_and_port.find(':', bracket == std::string_view::npos ? 0 : bracket);
    return std::min(colon, host_and_port.size());
}

// Reads ":PORT" into `port`. Returns false if it is no such text; an empty text names no port.
bool read_port(std::string_view text, std::optional<int>& port)
{
    if (text.empty()) return true;
    text.remove_prefix(1);
    auto const number = parse_number<std::uint32_t>(text);
    if (!number || text.size() > 5 || *number > 65'535) return false;
    port = static_cast<int>(*number);
    return true;
}

}  // namespace

std::optional<Url> parse_url(std::string_view text)
{
    auto const mark = text.find("://");
    if (mark == std::string_view::npos || !is_visible_ascii(text)) return std::nullopt;
    Url url{lower_case(text.substr(0, mark)), {}};
    text.remove_prefix(mark + 3);
    auto authority = text.substr(0, text.find_first_of("/?#\\"));
    auto const at = authority.rfind('@');
    url.has_credentials = at != std::string_view::npos;
    if (url.has_credentials) authority.remove_prefix(at + 1);
    auto const end = end_of_host(authority);
    url.host = lower_case(authority.substr(0, end));
    if (url.scheme.empty() || !consists_of(url.scheme, letters) || !is_host(url.host) ||
        !read_port(authority.substr(end), url.port))
        return std::nullopt;
    return url;
}

bool is_loopback(std::string const& host)
{
    in_addr address{};
    if (inet_pton(AF_INET, host.c_str(), &address) == 1)
        return (ntohl(address.s_addr) >> 24) == 127;
    return host == "localhost" || host == "[::1]";
}

std::string without_query(std::string_view url) { return printable(url.substr(0, url.find('?'))); }

Result<Url> check_url(std::string_view text, std::string const& what, bool allow_http)
{
    auto const url = parse_url(text);
    if (!url)
        return fail(ExitCode::config, what, "this is not a URL",
                    "write it like https://api.example.org");
    if (url->has_credentials)
        return fail(ExitCode::config, what, "it contains a user name or password",
                    "put credentials into their file, not into the URL");
    if (url->scheme == "https") return *url;
    if (url->scheme == "http" && (allow_http || is_loopback(url->host))) return *url;
    return fail(ExitCode::config, what, "only https is allowed (http only to this machine)",
                "use the https address");
}

}  // namespace curtail::http
