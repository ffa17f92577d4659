// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/core/json.hpp"
#include "base/http/client.hpp"
#include "support/python_server.hpp"
#include "support/temporary_folder.hpp"

namespace curtail::test {

/// Runs tests/support/watttime_server.py on a loopback port until the object is destroyed. The
/// server knows the user `alice` with the password below.
class WattTimeServer {
  public:
    static constexpr char const* password = "tr0ub4dor-and-3";

    /// Serves https with a certificate for `tls_name`, e.g. `IP:127.0.0.1`, valid for `tls_days`
    /// days. Serves http if `tls_name` is empty.
    explicit WattTimeServer(std::string const& tls_name = {}, int tls_days = 2)
    {
        std::ofstream(folder_ / "password") << password;
        std::vector<std::string> arguments{"--password-file", (folder_ / "password").string()};
        if (!tls_name.empty())
            arguments.insert(arguments.end(),
                             {"--tls-folder", folder_.path().string(), "--tls-name", tls_name,
                              "--tls-days", std::to_string(tls_days)});
        server_ = std::make_unique<PythonServer>("tests/support/watttime_server.py", arguments);
        url_ = (tls_name.empty() ? "http://127.0.0.1:" : "https://127.0.0.1:") + server_->port();
    }

    [[nodiscard]] std::string const& url() const { return url_; }
    [[nodiscard]] std::filesystem::path certificate() const { return folder_ / "certificate.pem"; }
    /// Sets the server's behaviour, e.g. `fault=slow&times=2`, `forget_tokens`,
    /// `now=2026-01-11T17:00:00Z`, or `reset` (the state after start-up).
    void control(std::string const& query) { (void)get("/_control?" + query); }
    /// The paths of all requests so far, with their queries, in order. Only paths that begin with
    /// `prefix` are listed.
    [[nodiscard]] std::vector<std::string> requests(std::string const& prefix = "")
    {
        std::vector<std::string> paths;
        auto const list = json::parse(get("/_requests"), "requests").value();
        for (auto const& request : *list.as_array()) {
            auto const path = *request.as_object()->find("path")->as_text();
            if (path.rfind(prefix, 0) == 0) paths.push_back(path);
        }
        return paths;
    }

  private:
    std::string get(std::string const& path)
    {
        http::Client client(
            {url_.starts_with("https") ? certificate() : std::filesystem::path(), {}});
        auto const response = client.send({.url = url_ + path, .username = {}});
        if (!response || response->status != 200)
            throw std::runtime_error("the WattTime server does not answer " + path);
        return response->body;
    }

    TemporaryFolder folder_;
    std::unique_ptr<PythonServer> server_;
    std::string url_;
};

}  // namespace curtail::test
