// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "signals/secret.hpp"

namespace curtail::signals {

/// The end of the time that some work may take in all.
class Deadline {
  public:
    explicit Deadline(Millis total) : end_(mono_now() + total) {}
    [[nodiscard]] Millis left() const { return std::max(Millis{0}, end_ - mono_now()); }

  private:
    MonoTime end_;
};

struct HttpRequest {
    std::string url;  ///< https, or http to this machine; without user and password
    std::string username;
    Secret const* password{nullptr};  ///< with it: HTTP Basic
    Secret const* bearer{nullptr};    ///< with it: Authorization: Bearer
    Millis deadline{10'000};  ///< for everything, from the name's resolution to the last byte
    std::size_t body_limit{std::size_t{8} << 20};
};

/// Any answer of a server, whatever its status.
struct HttpResponse {
    long status{};
    std::string content_type;
    std::string body;
    std::optional<Seconds> retry_after;  ///< if the server asks for it
};

inline constexpr std::size_t http_header_limit = std::size_t{32} << 10;

/// GET over HTTP by libcurl. Certificates are always verified, redirects never followed
/// (credentials would go along), nothing decompressed. One thread at a time.
class HttpClient {
  public:
    /// `ca_file`: certificates to trust instead of the system's; empty: the system's.
    explicit HttpClient(std::filesystem::path ca_file = {});
    ~HttpClient();
    HttpClient(HttpClient&&) noexcept;
    HttpClient& operator=(HttpClient&&) noexcept;

    /// `temporary`: no answer in time or no connection; `permission`: the certificate is not
    /// trusted; `data`: larger than the limits; `config`: this URL or ca_file is never asked.
    /// Errors show the URL without its query.
    [[nodiscard]] Result<HttpResponse> get(HttpRequest const& request);

  private:
    struct Handle;
    std::unique_ptr<Handle> handle_;
    std::filesystem::path ca_file_;
};

}  // namespace curtail::signals
