// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/download.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "storage/s3/extent.hpp"
#include "storage/s3/parts.hpp"

namespace curtail::s3 {
namespace {

Failure cut_short(std::string const& what)
{
    return {{ExitCode::temporary, what, "the response ended early", {}}, Failure::Remedy::wait};
}

tl::unexpected<Error> replaced(std::string const& what)
{
    return fail(ExitCode::temporary, what, "it was replaced while it was read");
}

}  // namespace

ObjectDownload::ObjectDownload(Session& session, std::string const& key, Bytes limit,
                               Bucket::Sink const& sink, CallLimits const& call)
    : session_(session),
      key_(key),
      limit_(limit),
      sink_(sink),
      call_(call),
      what_("cannot read " + key)
{
}

Result<bool> ObjectDownload::run()
{
    auto const response = session_.repeat([&] { return request_rest(); }, call_);
    if (too_large_)
        return fail(ExitCode::data, what_,
                    fmt::format("it has {} bytes, the limit is {}", whole_.value, limit_.value));
    if (!response) return tl::unexpected(response.error());
    if (response->status == 404) return false;
    if (response->is_success()) return true;
    if (response->status == 412) return replaced(what_);
    return tl::unexpected(failure_of(*response, what_).error);
}

Session::Attempt ObjectDownload::request_rest()
{
    BucketRequest request{.key = key_, .what = what_};
    requested_from_ = received_;
    if (received_ > 0)
        request.headers = {{"range", fmt::format("bytes={}-", received_)}, {"if-match", etag_}};
    request.sink = [this](http::Response const& head, std::span<std::byte const> piece) {
        return accept(head, piece);
    };
    auto response = session_.attempt(request, call_);
    if (response && response->is_success() && received_ < whole_.value)
        return tl::unexpected(cut_short(what_));
    return response;
}

bool ObjectDownload::accept(http::Response const& head, std::span<std::byte const> piece)
{
    auto const extent = extent_of(head);
    if (!extent || extent->first != requested_from_) return false;
    if (received_ == 0) {
        whole_ = {extent->whole};
        etag_ = head.header("etag");
        too_large_ = whole_ > limit_;
    }
    auto const size = static_cast<std::int64_t>(piece.size());
    bool const fits =
        !too_large_ && extent->whole == whole_.value && size <= whole_.value - received_;
    if (!fits) return false;
    sink_(piece, whole_);
    received_ += size;
    return true;
}

RangeReader::RangeReader(Session& session, std::string const& key, std::size_t whole,
                         std::string etag)
    : session_(session),
      key_(key),
      whole_(whole),
      etag_(std::move(etag)),
      what_("cannot read " + key)
{
}

std::optional<Error> RangeReader::size_error() const
{
    if (other_size_ < 0) return std::nullopt;
    return Error{ExitCode::data, what_,
                 fmt::format("it has {} bytes instead of {}", other_size_.load(), whole_), ""};
}

// One range on its way: where it begins, and how much of it has arrived.
struct RangeReader::Range {
    std::size_t offset;
    std::span<std::byte> out;
    std::size_t done{0};
    std::size_t requested_from{0};

    [[nodiscard]] std::size_t rest() const { return out.size() - done; }
    void add(std::span<std::byte const> piece)
    {
        std::copy(piece.begin(), piece.end(), out.data() + done);
        done += piece.size();
    }
};

bool RangeReader::has_size(std::int64_t size)
{
    bool const same = size == static_cast<std::int64_t>(whole_);
    if (!same) other_size_ = size;
    return same;
}

Session::Attempt RangeReader::request_rest(Range& range, CallLimits const& call)
{
    BucketRequest request{.key = key_, .what = what_};
    range.requested_from = range.offset + range.done;
    if (range.rest() < whole_)
        request.headers = {{"range", range_of(static_cast<std::int64_t>(range.requested_from),
                                              static_cast<std::int64_t>(range.rest()))}};
    request.headers.push_back({"if-match", etag_});
    request.sink = [&](http::Response const& head, std::span<std::byte const> piece) {
        auto const extent = extent_of(head);
        if (!extent || extent->first != static_cast<std::int64_t>(range.requested_from) ||
            !has_size(extent->whole) || piece.size() > range.rest())
            return false;
        range.add(piece);
        return true;
    };
    auto response = session_.attempt(request, call);
    if (!response || !response->is_success() || range.rest() == 0) return response;
    // An empty object has no piece.
    if (auto const extent = extent_of(*response)) (void)has_size(extent->whole);
    return tl::unexpected(cut_short(what_));
}

Result<void> RangeReader::read(std::size_t offset, std::span<std::byte> out, CallLimits const& call)
{
    Range range{offset, out};
    auto const response = session_.repeat([&] { return request_rest(range, call); }, call);
    if (!response) return tl::unexpected(response.error());
    if (response->is_success()) return {};
    if (response->status == 404) missing_ = true;
    if (response->status == 412) return replaced(what_);
    if (response->status == 416)
        return fail(ExitCode::data, what_, fmt::format("it has less than {} bytes", whole_));
    return tl::unexpected(failure_of(*response, what_).error);
}

}  // namespace curtail::s3
