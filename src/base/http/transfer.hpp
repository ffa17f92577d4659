// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <curl/curl.h>

#include <optional>

#include "base/core/result.hpp"
#include "base/http/message.hpp"

namespace curtail::http {

/// One request on its way: sends the body, receives the response, and ends the transfer at a
/// limit. Private to Client. `request` must outlive the transfer.
class Transfer {
  public:
    explicit Transfer(Request const& request) : request_(request) {}
    Transfer(Transfer const&) = delete;
    Transfer& operator=(Transfer const&) = delete;

    /// Registers this object's callbacks with `handle`. The object must not move afterwards.
    /// Returns libcurl's error code.
    [[nodiscard]] CURLcode attach(CURL* handle);
    /// Returns the error for which this object ended the transfer. Returns an empty optional if it
    /// did not. `what` is the operation that failed.
    [[nodiscard]] std::optional<Error> error(std::string const& what) const;
    /// Returns what has arrived. `handle` is the one that was attached. Call once.
    [[nodiscard]] Response response(CURL* handle);

  private:
    enum class End { none, body_too_large, headers_too_large, stalled, cancelled, sink };

    static std::size_t on_body(char const* bytes, std::size_t size, std::size_t count, void* self);
    static std::size_t on_header(char const* bytes, std::size_t size, std::size_t count,
                                 void* self);
    static std::size_t on_send(char* out, std::size_t size, std::size_t count, void* self);
    static int on_seek(void* self, curl_off_t offset, int origin);
    static int on_progress(void* self, curl_off_t, curl_off_t down, curl_off_t, curl_off_t up);

    bool receive(std::string_view bytes);
    bool receive_header(std::string_view line);

    Request const& request_;
    Response response_;
    End end_{End::none};
    std::size_t header_bytes_{0};
    std::size_t sent_{0};
    curl_off_t moved_{0};  ///< bytes, both ways
    MonoTime moved_at_{};
};

}  // namespace curtail::http
