// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/secret.hpp"

// HTTP requests with libcurl (7.61 or newer).

namespace curtail::http {

/// An HTTP GET request. The caller owns the secrets.
struct Request {
    std::string url;  ///< https, or http to the loopback interface; without user name and password
    std::string username;             ///< for HTTP Basic authentication
    Secret const* password{nullptr};  ///< null: no HTTP Basic authentication
    /// Token to send as `Authorization: Bearer`. Ignored if `password` is not null.
    Secret const* bearer{nullptr};
    Millis deadline{10'000};  ///< for the whole request, from name resolution to the last byte
    std::size_t body_limit{std::size_t{8} << 20};  ///< largest accepted body, in bytes
};

/// A server's response. Client::get() returns it even if the status reports an error.
struct Response {
    long status{};
    std::string content_type;
    std::string body;
    /// How long the Retry-After header asks the client to wait, counted from the header's arrival.
    std::optional<Seconds> retry_after;
};

/// Largest accepted size of all HTTP headers of a response together, in bytes.
inline constexpr std::size_t header_limit = std::size_t{32} << 10;

/// A sender of GET requests. The client always verifies certificates. It never decompresses a
/// response. It never follows a redirect, because that would forward credentials. A client is not
/// thread-safe.
class Client {
  public:
    /// Trusts the certificates in `ca_file`, or those of the system if `ca_file` is empty.
    explicit Client(std::filesystem::path ca_file = {});
    ~Client();
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;

    /// Sends a request and returns the response. Error messages show the URL without its query.
    ///
    /// Fails with `temporary` if there is no connection, or no complete response in time. Fails
    /// with `permission` if the certificate is not trusted. Fails with `data` if the response
    /// exceeds Request::body_limit or header_limit. Fails with `config` if the URL is not allowed,
    /// or if `ca_file` is unusable.
    [[nodiscard]] Result<Response> get(Request const& request);

  private:
    struct Handle;
    std::unique_ptr<Handle> handle_;
    std::filesystem::path ca_file_;
};

}  // namespace curtail::http
