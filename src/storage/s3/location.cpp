// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/location.hpp"

#include <algorithm>

#include "base/core/text.hpp"
#include "base/http/url.hpp"

namespace curtail::s3 {
namespace {

constexpr std::string_view scheme = "s3://";

tl::unexpected<Error> bad(std::string_view url, std::string why)
{
    return fail(ExitCode::config, "store " + printable(url), std::move(why),
                "write s3://BUCKET/PREFIX");
}

bool is_bucket(std::string_view name)
{
    constexpr std::string_view inner = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    auto const plain = [](char c) { return c != '.' && c != '-'; };
    return name.size() >= 3 && name.size() <= 63 &&
           name.find_first_not_of(inner) == std::string_view::npos && plain(name.front()) &&
           plain(name.back()) && name.find("..") == std::string_view::npos;
}

bool is_prefix(std::string_view prefix)
{
    auto const visible = [](char c) { return c > ' ' && c < '\x7f'; };
    if (!std::all_of(prefix.begin(), prefix.end(), visible) || prefix.size() > 512) return false;
    auto const parts = split(prefix, '/');
    return std::none_of(parts.begin(), parts.end(),
                        [](auto part) { return part.empty() || part == "." || part == ".."; });
}

// Over https, the certificate matters.
bool is_amazon(http::Url const& url)
{
    return url.scheme == "https" &&
           (url.host.ends_with(".amazonaws.com") || url.host.ends_with(".amazonaws.com.cn"));
}

Result<AddressingStyle> choose_addressing(Location const& location, http::Url const& url,
                                          bool is_default)
{
    bool const has_dot = location.bucket.find('.') != std::string::npos;
    if (!location.addressing)
        return is_default && !has_dot ? AddressingStyle::virtual_host : AddressingStyle::path;
    if (location.addressing == AddressingStyle::virtual_host && has_dot && is_amazon(url))
        return fail(ExitCode::config, "bucket " + location.bucket,
                    "Amazon's certificate does not cover a host with its name, which has a dot",
                    "set s3.addressing to path");
    return *location.addressing;
}

}  // namespace

Result<Location> parse_location(std::string_view url)
{
    if (!url.starts_with(scheme)) return bad(url, "not the address of a bucket");
    auto rest = url.substr(scheme.size());
    auto const slash = std::min(rest.find('/'), rest.size());
    Location location;
    location.bucket = rest.substr(0, slash);
    if (!is_bucket(location.bucket))
        return bad(url, "a bucket's name has 3 to 63 characters of a-z, 0-9, '.' and '-'");
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (rest.ends_with('/')) rest.remove_suffix(1);
    if (!rest.empty() && !is_prefix(rest))
        return bad(url, "the prefix has an empty part, '.', '..' or an unusual character");
    location.prefix = rest;
    return location;
}

Result<Location> complete(Location location)
{
    bool const is_default = location.endpoint.empty();
    if (is_default) location.endpoint = "https://s3." + location.region + ".amazonaws.com";
    auto const what = "endpoint " + printable(location.endpoint);
    auto const url = http::check_url(location.endpoint, what, location.allow_http);
    if (!url) {
        auto error = url.error();
        if (!location.allow_http && location.endpoint.starts_with("http://"))
            error.remedy = "use https, or set allow_http if the network is private";
        return tl::unexpected(std::move(error));
    }
    if (location.endpoint.ends_with('/')) location.endpoint.pop_back();
    auto const after_scheme = location.endpoint.find("://") + 3;
    if (location.endpoint.find_first_of("/?#\\", after_scheme) != std::string::npos)
        return fail(ExitCode::config, what, "it has a path", "write only https://HOST");
    bool const has_usual_port = url->port == (url->scheme == "https" ? 443 : 80);
    location.endpoint = url->scheme + "://" + url->host;
    if (url->port && !has_usual_port) location.endpoint += ":" + std::to_string(*url->port);
    auto const addressing = choose_addressing(location, *url, is_default);
    if (!addressing) return tl::unexpected(addressing.error());
    location.addressing = *addressing;
    return location;
}

std::string full_key(Location const& location, std::string_view key)
{
    return location.prefix.empty() ? std::string(key) : location.prefix + "/" + std::string(key);
}

ObjectUrl address_of(Location const& location, std::string_view key)
{
    auto const after_scheme = location.endpoint.find("://") + 3;
    auto const scheme_text = location.endpoint.substr(0, after_scheme);
    auto host = location.endpoint.substr(after_scheme);
    std::string path = "/";
    if (location.addressing == AddressingStyle::virtual_host) host = location.bucket + "." + host;
    else path += location.bucket + (key.empty() ? "" : "/");
    if (!key.empty()) path += full_key(location, key);
    return {scheme_text + host, host, path};
}

}  // namespace curtail::s3
