// SPDX-License-Identifier: Apache-2.0
#include "storage/store/object_store.hpp"

#include <filesystem>

#include "base/core/clock.hpp"
#include "base/core/text.hpp"
#include "storage/store/posix_store.hpp"
#include "storage/store/s3_store.hpp"

namespace curtail::store {
namespace {

Result<std::unique_ptr<ObjectStore>> open_folder(std::string_view url, IfMissing if_missing)
{
    constexpr std::string_view scheme = "file://";
    if (!url.starts_with(scheme) || url.size() <= scheme.size() + 1 || url[scheme.size()] != '/' ||
        url.find('\0') != url.npos)
        return fail(ExitCode::config, "store " + printable(url),
                    "not the address of a shared folder or a bucket",
                    "write file:///absolute/folder or s3://BUCKET/PREFIX");
    auto opened = PosixStore::open(std::filesystem::path(url.substr(scheme.size())), if_missing);
    if (!opened) return tl::unexpected(opened.error());
    return std::unique_ptr<ObjectStore>(std::move(*opened));
}

Result<std::unique_ptr<ObjectStore>> open_s3(Address const& address)
{
    auto location = s3::parse_location(address.url);
    if (!location) return tl::unexpected(location.error());
    location->endpoint = address.access.endpoint;
    if (!address.region.empty()) location->region = address.region;
    location->addressing = address.addressing;
    location->allow_http = address.allow_http;
    auto complete = s3::complete(std::move(*location));
    if (!complete) return tl::unexpected(complete.error());
    auto credentials =
        std::make_shared<s3::CredentialSource>(address.access.credentials, s3::aws_environment());
    auto session =
        std::make_shared<s3::Session>(std::move(*complete), std::move(credentials),
                                      address.access.connection, std::make_shared<SystemClock>());
    return std::make_unique<S3Store>(s3::Bucket(std::move(session)));
}

}  // namespace

Result<std::optional<Content>> ObjectStore::get(ObjectName const& name, Bytes limit,
                                                CallLimits const& call)
{
    Content content;
    auto const found = read(
        name, limit,
        [&](std::span<std::byte const> piece, Bytes whole) {
            content.reserve(static_cast<std::size_t>(whole.value));
            content.insert(content.end(), piece.begin(), piece.end());
        },
        call);
    if (!found) return tl::unexpected(found.error());
    if (!*found) return std::optional<Content>{};
    return std::optional(std::move(content));
}

Result<std::vector<ListedObject>> ObjectStore::list_all(ObjectFolder const& folder,
                                                        CallLimits const& call)
{
    std::vector<ListedObject> all;
    auto const listed = list(
        folder, "",
        [&](ListedObject const& object) {
            all.push_back(object);
            return true;
        },
        call);
    if (!listed) return tl::unexpected(listed.error());
    return all;
}

Result<std::unique_ptr<ObjectStore>> open_store(Address const& address, IfMissing if_missing)
{
    if (address.url.starts_with("s3://")) return open_s3(address);
    return open_folder(address.url, if_missing);
}

}  // namespace curtail::store
