// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/stat.h>

#include <algorithm>
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

/// Runs tests/support/s3_server.py, an S3 server that fails on request. It has one bucket,
/// `bucket`, and one user, `test-id`.
class S3Server {
  public:
    static constexpr char const* secret = "s3cret-of-the-test";

    S3Server()
    {
        std::ofstream(folder_ / "secret") << secret;
        write_credentials(secret);
        server_ = std::make_unique<PythonServer>(
            "tests/support/s3_server.py",
            std::vector<std::string>{"--secret-file", (folder_ / "secret").string()});
    }

    [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + server_->port(); }
    /// A URL by which bucket.localhost resolves too.
    [[nodiscard]] std::string localhost_url() const
    {
        return "http://localhost:" + server_->port();
    }
    [[nodiscard]] std::filesystem::path credentials() const { return folder_ / "credentials"; }
    /// Writes the credentials file.
    void write_credentials(std::string const& key, std::string const& token = {}) const
    {
        std::ofstream file(credentials());
        file << "[default]\naws_access_key_id = test-id\naws_secret_access_key = " << key << "\n";
        if (!token.empty()) file << "aws_session_token = " << token << "\n";
        file.close();
        chmod(credentials().c_str(), 0600);
    }
    /// Sets the server's behaviour, e.g. `fault=lost_reply&method=PUT&times=2`,
    /// `clock_offset_s=3600`, `forget_active` (see most_active()), `no_continue` (no response
    /// to `Expect: 100-continue`), or `reset` (the state after start-up).
    void control(std::string const& query) { (void)get("/_control?" + query); }
    /// All requests so far, e.g. `GET /bucket/key`. Only those that begin with `prefix` are listed.
    [[nodiscard]] std::vector<std::string> requests(std::string const& prefix = "")
    {
        std::vector<std::string> list;
        auto const answer = json::parse(get("/_requests"), "requests").value();
        for (auto const& request : *answer.as_object()->find("requests")->as_array())
            if (request.as_text()->rfind(prefix, 0) == 0) list.push_back(*request.as_text());
        return list;
    }
    /// The greatest number of requests that the server handled at the same time.
    [[nodiscard]] std::int64_t most_active()
    {
        auto const answer = json::parse(get("/_requests"), "requests").value();
        return answer.as_object()->integer_at("most_active").value();
    }

  private:
    std::string get(std::string const& path)
    {
        http::Client client;
        auto const response = client.send({.url = url() + path, .username = {}});
        if (!response || response->status != 200)
            throw std::runtime_error("the S3 server does not answer " + path);
        return response->body;
    }

    TemporaryFolder folder_;
    std::unique_ptr<PythonServer> server_;
};

}  // namespace curtail::test
