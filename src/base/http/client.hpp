// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "base/core/result.hpp"
#include "base/http/message.hpp"

// HTTP requests with libcurl (7.61 or newer).

namespace curtail::http {

/// How a client reaches servers.
struct ConnectionSettings {
    /// PEM file of the certificates to trust; empty: those of the system.
    std::filesystem::path ca_file{};
    /// URL of the proxy, for example `http://proxy.example.org:3128`. If empty, the environment
    /// decides, for example `https_proxy`. Never used for http to the loopback interface.
    std::string proxy{};
    bool direct{false};  ///< uses no proxy, not even one of the environment
};

/// A sender of HTTP requests. The client always verifies certificates. It never decompresses a
/// response. It never follows a redirect, because that would forward credentials. A client is not
/// thread-safe.
class Client {
  public:
    explicit Client(ConnectionSettings connection = {});
    ~Client();
    Client(Client&&) noexcept;
    Client& operator=(Client&&) noexcept;

    /// Sends a request and returns the response. Error messages show the URL without its query.
    ///
    /// Fails with `temporary` if there is no connection, no complete response in time, or if the
    /// request was cancelled. Fails with `permission` if the certificate is not trusted, or if
    /// others can change `ca_file`. Fails with
    /// `data` if the response exceeds Request::body_limit or header_limit, or if Request::sink
    /// ended the transfer. Fails with `config` if the URL is not allowed, or if `ca_file` is
    /// unusable.
    [[nodiscard]] Result<Response> send(Request const& request);

  private:
    struct Handle;
    std::unique_ptr<Handle> handle_;
    ConnectionSettings connection_;
};

}  // namespace curtail::http
