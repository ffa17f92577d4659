// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/secret.hpp"

/// HTTP requests by libcurl (7.61 or newer).
namespace curtail::http {

struct Request {
    std::string url;  ///< https, or http to the loopback interface; no user name or password
    std::string username;
    Secret const* password{nullptr};  ///< if set: HTTP Basic authentication
    Secret const* bearer{nullptr};    ///< if set: `Authorization: Bearer`
    Millis deadline{10'000};          ///< for the whole request, from name resolution to last byte
    std::size_t body_limit{std::size_t{8} << 20};  ///< bytes
};

/// A server's response, whatever its status.
struct Response {
    long status{};
    std::string content_type;
    std::string body;
    std::optional<Seconds> retry_after;  ///< from the Retry-After header
};

inline constexpr std::size_t header_limit = std::size_t{32} << 10;  ///< bytes of all headers

/// Sends GET requests. Always verifies certificates, never follows redirects (they would forward
/// credentials) and never decompresses. Not thread-safe.
class Client {
  public:
    /// `ca_file`: certificates to trust instead of the system's; empty: the system's.
    explicit Client(std::filesystem::path ca_file = {});
    ~Client();
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;

    /// Errors: `temporary` for no connection or no response in time, `permission` for an untrusted
    /// certificate, `data` for a response over the limits, `config` for a URL or ca_file that is
    /// not allowed. They show the URL without its query.
    [[nodiscard]] Result<Response> get(Request const& request);

  private:
    struct Handle;
    std::unique_ptr<Handle> handle_;
    std::filesystem::path ca_file_;
};

}  // namespace curtail::http
