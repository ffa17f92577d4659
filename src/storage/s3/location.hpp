// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.hpp"

namespace curtail::s3 {

/// Where the bucket's name stands in the address of an object.
enum class AddressingStyle {
    path,         ///< https://ENDPOINT/BUCKET/KEY
    virtual_host  ///< https://BUCKET.ENDPOINT/KEY
};

/// A bucket, or a part of it, and the server that holds it.
struct Location {
    std::string bucket;
    std::string prefix{};  ///< of all keys; empty, or without a slash at either end
    std::string endpoint;  ///< URL of the server, without a path: `https://s3.example.org`
    std::string region{"us-east-1"};  ///< part of every signature; many servers ignore it
    std::optional<AddressingStyle> addressing{};  ///< empty: see complete()
    bool allow_http{false};  ///< accepts an endpoint with http that is not on this machine
};

/// Splits `s3://BUCKET/PREFIX` into the bucket and the prefix. The prefix is optional. Checks the
/// name of the bucket: 3 to 63 characters of a-z, 0-9, '.' and '-', as Amazon S3 requires. The
/// prefix consists of visible ASCII characters, and no part of it is empty, `.` or `..`. Fails with
/// `config` for any other text.
[[nodiscard]] Result<Location> parse_location(std::string_view url);

/// Fills in what `location` lacks:
/// - the endpoint: Amazon S3 in the region, over https;
/// - the addressing: by virtual host if the endpoint was filled in, otherwise by path. A bucket
///   with a dot in its name is always addressed by path, because the certificate of Amazon S3 does
///   not cover it as a host.
/// Removes the default port from the endpoint, because libcurl sends no such port in the header
/// Host, which is part of the signature.
///
/// Fails with `config` if the endpoint is not a URL, has a path, or has http without `allow_http`.
/// Also fails with `config` if the addressing was virtual_host and cannot work.
[[nodiscard]] Result<Location> complete(Location location);

/// Host, with the port if the endpoint names one, and path of the object `key`.
struct ObjectUrl {
    std::string scheme_and_host;  ///< `https://HOST`
    std::string host;             ///< for the signature
    std::string path;             ///< not encoded
};
/// Returns the address of the object `prefix/key`, or of the bucket if `key` is empty. The location
/// must be complete.
[[nodiscard]] ObjectUrl address_of(Location const& location, std::string_view key);
/// Returns the full key of an object: the prefix, a slash, and `key`.
[[nodiscard]] std::string full_key(Location const& location, std::string_view key);

}  // namespace curtail::s3
