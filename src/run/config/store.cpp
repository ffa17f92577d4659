// SPDX-License-Identifier: Apache-2.0
#include "run/config/store.hpp"

#include "base/http/url.hpp"

namespace curtail::config {
namespace {

// A path that may be absent.
std::filesystem::path read_optional_path(json::ObjectReader& r, std::filesystem::path const& file,
                                         std::string const& key)
{
    return r.any(key) == nullptr ? std::filesystem::path() : read_path(r, file, key);
}

std::string read_url(json::ObjectReader& r, std::string const& key)
{
    auto text = r.text(key, "");
    auto const url = http::parse_url(text);
    r.require(text.empty() || (url && !url->has_credentials), key,
              "must be a URL like https://s3.example.org, without a user name");
    return text;
}

std::string read_proxy(json::ObjectReader& r)
{
    auto text = r.text("proxy", "");
    auto const url = http::parse_url(text);
    r.require(
        text.empty() || (url && !url->has_credentials), "proxy",
        "must be the URL of an HTTP proxy, like http://proxy.example.org:3128, without a user "
        "name");
    return text;
}

void read_access(json::ObjectReader& r, std::filesystem::path const& file, store::S3Access& access)
{
    access.endpoint = read_url(r, "endpoint");
    access.credentials.file = read_optional_path(r, file, "credentials");
    access.credentials.profile = r.text("profile", "");
    access.credentials.instance_role = read_url(r, "instance_role");
    access.connection.ca_file = read_optional_path(r, file, "ca_file");
    access.connection.proxy = read_proxy(r);
}

void read_s3(json::ObjectReader& r, std::filesystem::path const& file, store::Address& address)
{
    r.object(
        "s3",
        [&](json::ObjectReader& o) {
            read_access(o, file, address.access);
            address.region = o.text("region", "");
            if (o.any("addressing") != nullptr)
                address.addressing = static_cast<s3::AddressingStyle>(
                    o.one_of("addressing", {"path", "virtual_host"}));
            address.allow_http = o.boolean("allow_http", false);
        },
        false);
    auto location = s3::parse_location(address.url);
    if (!location) return r.reject(location.error());
    location->endpoint = address.access.endpoint;
    location->addressing = address.addressing;
    location->allow_http = address.allow_http;
    if (auto const complete = s3::complete(*location); !complete) r.reject(complete.error());
}

}  // namespace

store::Address read_store(json::ObjectReader& r, std::filesystem::path const& file)
{
    auto const text = r.text("store");
    store::Address address{.url = text};
    if (address.is_s3()) {
        read_s3(r, file, address);
        return address;
    }
    auto const prefix = text.starts_with("file://") ? std::size_t{7} : std::size_t{5};
    r.require(text.starts_with("file:") && text.size() > prefix, "store",
              "must be file: and the path of a shared folder, or s3://BUCKET/PREFIX");
    r.require(r.any("s3") == nullptr, "s3", "applies only to a store of the form s3://BUCKET");
    return r.error_free() ? store::Address::of_folder(resolve(file, text.substr(prefix)))
                          : store::Address{};
}

store::S3Access read_s3_access(json::ObjectReader& r, std::filesystem::path const& file)
{
    store::S3Access access;
    r.object(
        "s3", [&](json::ObjectReader& o) { read_access(o, file, access); }, false);
    return access;
}

}  // namespace curtail::config
