// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/bucket.hpp"

#include <fmt/format.h>

#include "base/core/text.hpp"
#include "storage/s3/download.hpp"
#include "storage/s3/extent.hpp"
#include "storage/s3/parts.hpp"
#include "storage/s3/upload.hpp"

namespace curtail::s3 {
namespace {

// An answer that the operation does not expect, for example 416 to a PUT.
tl::unexpected<Error> unexpected_answer(http::Response const& response, std::string const& what)
{
    return tl::unexpected(failure_of(response, what).error);
}

Result<std::optional<ObjectHead>> head_of(http::Response const& response,
                                          std::optional<std::int64_t> size, std::string const& what)
{
    auto const modified = http::parse_date(response.header("last-modified"));
    if (!size || !modified)
        return fail(ExitCode::protocol, what, "the response has no size or no time",
                    "check that the endpoint is an S3 server");
    return ObjectHead{{*size}, *modified, std::string(response.header("etag"))};
}

}  // namespace

Bucket::Bucket(std::shared_ptr<Session> session, TransferSizes sizes)
    : session_(std::move(session)), sizes_(sizes)
{
}

Result<Creation> Bucket::create(std::string const& key, Pieces const& bytes, CallLimits const& call)
{
    auto const response = session_->attempt({.method = http::Method::put,
                                             .key = key,
                                             .headers = {{"if-none-match", "*"}},
                                             .body = bytes,
                                             .what = "cannot create " + key,
                                             .once = true},
                                            call);
    if (!response && response.error().error.code == ExitCode::temporary) return Creation::unknown;
    if (!response) return tl::unexpected(response.error().error);
    if (response->is_success()) return Creation::created;
    if (response->status == 412) return Creation::exists;
    return unexpected_answer(*response, "cannot create " + key);
}

Result<void> Bucket::put(std::string const& key, Pieces const& bytes, CallLimits const& call)
{
    if (bytes.size() > static_cast<std::size_t>(sizes_.single_limit.value))
        return Uploader(*session_, key, bytes, sizes_, call).run();
    BucketRequest const request{.method = http::Method::put,
                                .key = key,
                                .body = bytes,
                                .body_digest = sha256_of(bytes),
                                .what = "cannot write " + key};
    return session_->expect_success(request, call).map([](http::Response const&) {});
}

Result<std::optional<ObjectHead>> Bucket::head(std::string const& key, CallLimits const& call)
{
    auto const what = "cannot look up " + key;
    auto const response =
        session_->send({.method = http::Method::head, .key = key, .what = what}, call);
    if (!response) return tl::unexpected(response.error());
    if (response->status == 404) return head_by_get(key, call);
    if (!response->is_success()) return unexpected_answer(*response, what);
    return head_of(*response, leading_integer(response->header("content-length")), what);
}

// Without a body, a response of status 404 does not say whether the object, the bucket or the
// server is missing. An empty object has no range.
Result<std::optional<ObjectHead>> Bucket::head_by_get(std::string const& key,
                                                      CallLimits const& call)
{
    auto const what = "cannot look up " + key;
    auto const response =
        session_->send({.key = key, .headers = {{"range", range_of(0, 1)}}, .what = what}, call);
    if (!response) return tl::unexpected(response.error());
    if (response->status == 404) return std::nullopt;
    if (!response->is_success()) return fail(ExitCode::temporary, what, "it has just been created");
    auto const extent = extent_of(*response);
    return head_of(*response, extent ? std::optional(extent->whole) : std::nullopt, what);
}

Result<bool> Bucket::get(std::string const& key, Bytes limit, Sink const& sink,
                         CallLimits const& call)
{
    if (limit <= sizes_.single_limit)
        return ObjectDownload(*session_, key, limit, sink, call).run();
    auto const found = head(key, call);
    if (!found) return tl::unexpected(found.error());
    if (!*found) return false;
    auto const size = (*found)->size;
    if (size <= sizes_.single_limit || size > limit)
        return ObjectDownload(*session_, key, limit, sink, call).run();
    return read_in_order(*session_, key, **found, sizes_, sink, call);
}

Result<void> Bucket::remove(std::string const& key, CallLimits const& call)
{
    return session_->remove(
        {.method = http::Method::remove, .key = key, .what = "cannot remove " + key}, call);
}

Result<ListPage> Bucket::list(std::string const& prefix, std::string const& token,
                              CallLimits const& call)
{
    return list_page(prefix, "continuation-token", token, call);
}

Result<ListPage> Bucket::list_after(std::string const& prefix, std::string const& after,
                                    CallLimits const& call)
{
    return list_page(prefix, "start-after",
                     after.empty() ? "" : full_key(session_->location(), after), call);
}

Result<ListPage> Bucket::list_page(std::string const& prefix, std::string const& parameter,
                                   std::string const& value, CallLimits const& call)
{
    BucketRequest request{
        .key = {},
        .query = {{"list-type", "2"}, {"prefix", full_key(session_->location(), prefix)}},
        .what = "cannot list " + prefix};
    if (!value.empty()) request.query.emplace_back(parameter, value);
    return session_->expect_success(request, call).and_then([](http::Response const& response) {
        return parse_list(response.body);
    });
}

Result<UploadPage> Bucket::list_uploads(std::string const& prefix, UploadPage const& page,
                                        CallLimits const& call)
{
    BucketRequest request{
        .key = {},
        .query = {{"uploads", ""}, {"prefix", full_key(session_->location(), prefix)}},
        .what = "cannot list the uploads of " + prefix};
    if (!page.next_key.empty()) {
        request.query.emplace_back("key-marker", page.next_key);
        request.query.emplace_back("upload-id-marker", page.next_id);
    }
    return session_->expect_success(request, call).and_then([](http::Response const& response) {
        return parse_uploads(response.body);
    });
}

Result<void> Bucket::abort(std::string const& key, std::string const& upload,
                           CallLimits const& call)
{
    return abort_upload(*session_, key, upload, call);
}

Result<bool> Bucket::has_versioning(CallLimits const& call)
{
    BucketRequest const request{.key = {},
                                .query = {{"versioning", ""}},
                                .what = "cannot find out whether the bucket has versioning"};
    return session_->expect_success(request, call).and_then([](http::Response const& response) {
        return parse_versioning(response.body);
    });
}

}  // namespace curtail::s3
