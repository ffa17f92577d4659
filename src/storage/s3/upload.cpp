// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/upload.hpp"

#include <fmt/format.h>

#include <random>

#include "storage/s3/parts.hpp"

namespace curtail::s3 {
namespace {

constexpr Millis abort_deadline{10'000};
constexpr char const* mark_header = "x-amz-meta-curtail-upload";

std::string random_mark()
{
    std::random_device random;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace

Uploader::Uploader(Session& session, std::string const& key, Pieces const& bytes,
                   TransferSizes sizes, CallLimits const& call)
    : session_(session),
      key_(key),
      bytes_(bytes),
      sizes_(sizes),
      call_(call),
      what_("cannot write " + key),
      mark_(random_mark()),
      part_size_(part_size(bytes.size(), static_cast<std::size_t>(sizes.part.value))),
      etags_((bytes.size() + part_size_ - 1) / part_size_)
{
}

Result<void> Uploader::run()
{
    auto const upload = begin();
    if (!upload) return tl::unexpected(upload.error());
    auto stored = send_parts(*upload);
    if (stored) stored = complete(*upload);
    if (stored) return {};
    // The caller may have cancelled, but the parts should not stay behind. If this fails too, they
    // stay until somebody aborts the upload (docs/object-storage.md).
    static_cast<void>(
        abort_upload(session_, key_, *upload, {.until = monotonic_now() + abort_deadline}));
    return stored;
}

Result<std::string> Uploader::begin()
{
    BucketRequest const request{.method = http::Method::post,
                                .key = key_,
                                .query = {{"uploads", ""}},
                                .headers = {{mark_header, mark_}},
                                .what = what_};
    return session_.expect_success(request, call_).and_then([](http::Response const& response) {
        return parse_upload_id(response.body);
    });
}

Result<void> Uploader::send_parts(std::string const& upload)
{
    return for_each_part(session_, etags_.size(), sizes_.parallel, call_,
                         [&](std::size_t part, CallLimits const& call) -> Result<void> {
                             auto etag = send_part(upload, part, call);
                             if (!etag) return tl::unexpected(etag.error());
                             etags_[part] = std::move(*etag);
                             return {};
                         });
}

Result<std::string> Uploader::send_part(std::string const& upload, std::size_t part,
                                        CallLimits const& call)
{
    auto const bytes = bytes_.slice(part * part_size_, part_size_);
    auto const response = session_.expect_success(
        {.method = http::Method::put,
         .key = key_,
         .query = {{"partNumber", std::to_string(part + 1)}, {"uploadId", upload}},
         .body = bytes,
         .body_digest = sha256_of(bytes),
         .what = what_},
        call);
    if (!response) return tl::unexpected(response.error());
    std::string etag(response->header("etag"));
    if (etag.empty())
        return fail(ExitCode::protocol, what_, "the response has no ETag",
                    "check that the endpoint is an S3 server");
    return etag;
}

Result<void> Uploader::complete(std::string const& upload)
{
    auto const body = completion_of(etags_);
    auto const response = session_.send({.method = http::Method::post,
                                         .key = key_,
                                         .query = {{"uploadId", upload}},
                                         .body = std::string_view(body),
                                         .what = what_},
                                        call_);
    if (!response) return tl::unexpected(response.error());
    if (response->is_success() || (response->status == 404 && is_stored())) return {};
    return tl::unexpected(failure_of(*response, what_).error);
}

bool Uploader::is_stored()
{
    auto const head =
        session_.send({.method = http::Method::head, .key = key_, .what = what_}, call_);
    return head && head->is_success() && head->header(mark_header) == mark_;
}

Result<void> abort_upload(Session& session, std::string const& key, std::string const& upload,
                          CallLimits const& call)
{
    return session.remove({.method = http::Method::remove,
                           .key = key,
                           .query = {{"uploadId", upload}},
                           .what = "cannot abort the upload of " + key},
                          call);
}

}  // namespace curtail::s3
