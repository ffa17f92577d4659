// SPDX-License-Identifier: Apache-2.0
#include "base/http/transfer.hpp"

#include <fmt/format.h>

#include "base/core/clock.hpp"
#include "base/core/text.hpp"
#include "base/http/retry_after.hpp"

namespace curtail::http {
namespace {

// Reads "HTTP/1.1 200 OK" or "HTTP/2 200". Returns 0 for any other line.
long status_of(std::string_view line)
{
    if (!line.starts_with("HTTP/")) return 0;
    auto const space = line.find(' ');
    if (space == std::string_view::npos) return 0;
    return static_cast<long>(leading_integer(line.substr(space + 1)).value_or(0));
}

}  // namespace

CURLcode Transfer::attach(CURL* handle)
{
    moved_at_ = monotonic_now();
    CURLcode code = CURLE_OK;
    auto const set = [&](CURLoption option, auto value) {
        if (code == CURLE_OK) code = curl_easy_setopt(handle, option, value);
    };
    set(CURLOPT_WRITEFUNCTION, &on_body);
    set(CURLOPT_HEADERFUNCTION, &on_header);
    set(CURLOPT_READFUNCTION, &on_send);
    set(CURLOPT_SEEKFUNCTION, &on_seek);
    set(CURLOPT_XFERINFOFUNCTION, &on_progress);
    for (auto const data : {CURLOPT_WRITEDATA, CURLOPT_HEADERDATA, CURLOPT_READDATA,
                            CURLOPT_SEEKDATA, CURLOPT_XFERINFODATA})
        set(data, static_cast<void*>(this));
    set(CURLOPT_NOPROGRESS, 0L);
    return code;
}

std::size_t Transfer::on_body(char const* bytes, std::size_t size, std::size_t count, void* self)
{
    return static_cast<Transfer*>(self)->receive({bytes, size * count}) ? size * count : 0;
}

std::size_t Transfer::on_header(char const* bytes, std::size_t size, std::size_t count, void* self)
{
    return static_cast<Transfer*>(self)->receive_header({bytes, size * count}) ? size * count : 0;
}

std::size_t Transfer::on_send(char* out, std::size_t size, std::size_t count, void* self)
{
    auto& transfer = *static_cast<Transfer*>(self);
    auto const copied = transfer.request_.body.copy(
        transfer.sent_, std::as_writable_bytes(std::span(out, size * count)));
    transfer.sent_ += copied;
    return copied;
}

int Transfer::on_seek(void* self, curl_off_t offset, int origin)
{
    if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_CANTSEEK;
    static_cast<Transfer*>(self)->sent_ = static_cast<std::size_t>(offset);
    return CURL_SEEKFUNC_OK;
}

// libcurl calls this at least once a second.
int Transfer::on_progress(void* self, curl_off_t, curl_off_t down, curl_off_t, curl_off_t up)
{
    auto& transfer = *static_cast<Transfer*>(self);
    auto const now = monotonic_now();
    if (down + up != transfer.moved_) transfer.moved_at_ = now;
    transfer.moved_ = down + up;
    auto const limit = transfer.request_.stall_limit;
    if (transfer.request_.cancel.stop_requested()) transfer.end_ = End::cancelled;
    else if (limit > Millis{0} && now - transfer.moved_at_ > limit) transfer.end_ = End::stalled;
    else return 0;
    return 1;
}

bool Transfer::receive(std::string_view bytes)
{
    if (request_.sink && response_.is_success()) {
        if (!request_.sink(response_, std::as_bytes(std::span(bytes)))) end_ = End::sink;
    } else if (bytes.size() > request_.body_limit - response_.body.size()) {
        end_ = End::body_too_large;
    } else {
        response_.body.append(bytes);
    }
    return end_ == End::none;
}

bool Transfer::receive_header(std::string_view line)
{
    header_bytes_ += line.size();
    if (header_bytes_ > header_limit) {
        end_ = End::headers_too_large;
        return false;
    }
    if (auto const status = status_of(line); status != 0) {
        // A new response, for example after "100 Continue".
        response_.status = status;
        response_.headers.clear();
        response_.retry_after.reset();
        return true;
    }
    if (auto const wait = parse_retry_after(line, SystemClock{}.now()))
        response_.retry_after = *wait;
    auto const colon = line.find(':');
    if (colon != std::string_view::npos)
        response_.headers.push_back(
            {std::string(line.substr(0, colon)), std::string(trim(line.substr(colon + 1)))});
    return true;
}

std::optional<Error> Transfer::error(std::string const& what) const
{
    switch (end_) {
        case End::none:
            return std::nullopt;
        case End::body_too_large:
            return Error{ExitCode::data, what,
                         fmt::format("the response is larger than {} bytes", request_.body_limit),
                         ""};
        case End::headers_too_large:
            return Error{ExitCode::data, what,
                         fmt::format("the headers are larger than {} bytes", header_limit), ""};
        case End::stalled:
            return Error{ExitCode::temporary, what,
                         "no data for " + format_duration(request_.stall_limit), ""};
        case End::cancelled:
            return Error{ExitCode::temporary, what, "the request was cancelled", ""};
        case End::sink:
            if (!response_.header("content-length").empty())
                return Error{ExitCode::data, what, "the data were refused", ""};
            return Error{ExitCode::data, what, "the answer does not state its Content-Length",
                         "let no proxy between this machine and the server change answers"};
    }
    return std::nullopt;
}

Response Transfer::response(CURL* handle)
{
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &response_.status);
    return std::move(response_);
}

}  // namespace curtail::http
