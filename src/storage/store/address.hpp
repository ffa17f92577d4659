// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/http/client.hpp"
#include "storage/s3/credential_source.hpp"
#include "storage/s3/location.hpp"

namespace curtail::store {

/// How one site, or one user, reaches an S3 server.
struct S3Access {
    std::string endpoint{};  ///< see s3::Location::endpoint; empty: Amazon S3
    s3::CredentialOptions credentials{};
    http::ConnectionSettings connection{};
};

/// Where a store is, and how to reach it.
struct Address {
    std::string url;  ///< `file:///absolute/folder` or `s3://BUCKET/PREFIX`
    // The rest applies only to s3.
    S3Access access{};
    std::string region{};                             ///< empty: that of s3::Location
    std::optional<s3::AddressingStyle> addressing{};  ///< empty: that of s3::complete()
    bool allow_http{false};

    /// Returns the address of a store in the absolute path `folder`.
    [[nodiscard]] static Address of_folder(std::filesystem::path const& folder)
    {
        return {.url = "file://" + folder.string()};
    }
    /// Returns the folder of an address of a folder.
    [[nodiscard]] std::filesystem::path folder() const
    {
        return url.substr(std::string_view("file://").size());
    }
    [[nodiscard]] bool is_s3() const { return url.starts_with("s3://"); }
    /// Returns this address with those fields of `site_access` that are not empty.
    [[nodiscard]] Address with(S3Access const& site_access) const;
};

}  // namespace curtail::store
