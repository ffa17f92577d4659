// SPDX-License-Identifier: Apache-2.0
#include "s3/download.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "s3/extent.hpp"
#include "s3/parts.hpp"

namespace curtail::s3 {
namespace {

Failure cut_short(std::string const& what)
{
    return {{ExitCode::temporary, what, "the response ended early", "will retry"},
            Failure::Cure::wait};
}

}  // namespace

Stream::Stream(Session& session, std::string const& key, Bytes limit, Bucket::Sink const& sink,
               Call const& call)
    : session_(session),
      key_(key),
      limit_(limit),
      sink_(sink),
      call_(call),
      what_("cannot read " + key)
{
}

Result<bool> Stream::run()
{
    auto const response = session_.repeat([&] { return request_rest(); }, call_);
    if (too_large_)
        return fail(ExitCode::data, what_,
                    fmt::format("it has {} bytes, the limit is {}", whole_.value, limit_.value));
    if (!response) return tl::unexpected(response.error());
    if (response->status == 404) return false;
    if (response->is_success()) return true;
    if (response->status == 412)
        return fail(ExitCode::temporary, what_, "it was replaced while it was read", "will retry");
    return tl::unexpected(failure_of(*response, what_).error);
}

Session::Attempt Stream::request_rest()
{
    Order order{.key = key_, .what = what_};
    requested_from_ = received_;
    if (received_ > 0)
        order.headers = {{"range", fmt::format("bytes={}-", received_)}, {"if-match", etag_}};
    order.sink = [this](http::Response const& head, std::span<std::byte const> piece) {
        return accept(head, piece);
    };
    auto response = session_.attempt(order, call_);
    if (response && response->is_success() && received_ < whole_.value)
        return tl::unexpected(cut_short(what_));
    return response;
}

bool Stream::accept(http::Response const& head, std::span<std::byte const> piece)
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

Downloader::Downloader(Session& session, std::string const& key, std::span<std::byte> out,
                       TransferSizes sizes, Call const& call)
    : session_(session),
      key_(key),
      out_(out),
      sizes_(sizes),
      call_(call),
      what_("cannot read " + key)
{
}

Result<bool> Downloader::run()
{
    bool const whole = out_.size() <= static_cast<std::size_t>(sizes_.single_limit.value);
    auto const part = whole ? out_.size() : static_cast<std::size_t>(sizes_.part.value);
    auto const count = whole ? 1 : (out_.size() + part - 1) / part;
    auto const read = for_each_part(
        session_, count, sizes_.parallel, call_, [&](std::size_t number, Call const& call) {
            auto const offset = number * part;
            return read_range(offset, out_.subspan(offset, std::min(part, out_.size() - offset)),
                              call);
        });
    if (missing_) return false;
    if (other_size_ >= 0)
        return fail(ExitCode::data, what_,
                    fmt::format("it has {} bytes instead of {}", other_size_.load(), out_.size()));
    if (!read) return tl::unexpected(read.error());
    return true;
}

Result<void> Downloader::read_range(std::size_t offset, std::span<std::byte> out, Call const& call)
{
    std::size_t done = 0;
    std::size_t start = 0;
    auto const accept = [&](http::Response const& head, std::span<std::byte const> piece) {
        auto const extent = extent_of(head);
        if (!extent || extent->first != static_cast<std::int64_t>(start)) return false;
        if (extent->whole != static_cast<std::int64_t>(out_.size())) {
            other_size_ = extent->whole;
            return false;
        }
        if (piece.size() > out.size() - done) return false;
        std::copy(piece.begin(), piece.end(), out.data() + done);
        done += piece.size();
        return true;
    };
    auto const once = [&]() -> Session::Attempt {
        Order order{.key = key_, .sink = accept, .what = what_};
        start = offset + done;
        auto const rest = out.size() - done;
        if (rest < out_.size())
            order.headers = {{"range", range_of(static_cast<std::int64_t>(start),
                                                static_cast<std::int64_t>(rest))}};
        auto response = session_.attempt(order, call);
        if (response && response->is_success() && done < out.size()) {
            auto const extent = extent_of(*response);
            if (extent && extent->whole != static_cast<std::int64_t>(out_.size()))
                other_size_ = extent->whole;  // an empty object has no piece
            return tl::unexpected(cut_short(what_));
        }
        return response;
    };
    auto const response = session_.repeat(once, call);
    if (!response) return tl::unexpected(response.error());
    if (response->is_success()) return {};
    missing_ = response->status == 404;
    if (response->status == 416)
        return fail(ExitCode::data, what_, fmt::format("it has less than {} bytes", out_.size()));
    return tl::unexpected(failure_of(*response, what_).error);
}

}  // namespace curtail::s3
