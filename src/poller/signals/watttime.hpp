// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/core/clock.hpp"
#include "base/core/ids.hpp"
#include "base/core/log.hpp"
#include "base/http/client.hpp"
#include "poller/signals/watttime_responses.hpp"
#include "run/samples/watttime_points.hpp"

// A client of WattTime's API, v3 (https://docs.watttime.org), for the marginal intensity of grid
// regions.

namespace curtail::signals::watttime {

/// A WattTime account.
struct Credentials {
    std::string username;
    Secret password;
};
/// Reads `{"username": ..., "password": ...}` from a file with mode 0600. Fails with `no_input` if
/// the file does not exist. Fails with `permission` if others may access the file; the message says
/// what to do. Fails with `config` if the content is invalid.
[[nodiscard]] Result<Credentials> read_credentials(std::filesystem::path const& file);

/// Settings of an AccountClient.
struct Options {
    std::string base_url{"https://api.watttime.org"};
    /// File of certificates to trust instead of the system's. If the path is empty, the client
    /// trusts the system's certificates.
    std::filesystem::path ca_file;
    /// Folder that only the user can access. The client creates the folder if `writes` is set. The
    /// folder holds the token of the last login. With this token, a later process need not log in.
    std::filesystem::path state_folder;
    /// File with the account. The client does not read this file. If WattTime rejected the
    /// account, a change of this file ends the wait of WattTimeProvider
    /// (WattTimeProvider::samples()).
    std::filesystem::path credentials_file;
    bool writes{true};        ///< false in a dry run: read state_folder, but write nothing
    Millis deadline{10'000};  ///< time limit of a query, including login, waits and retries
    /// Called to wait before a retry. If this function is empty, the client sleeps.
    std::function<void(Millis)> pause;
    Log log;  ///< receives warnings, e.g. that a file in state_folder could not be written
};

inline constexpr Seconds token_life{30 * 60};  ///< how long WattTime accepts a token

/// A client for one account. The client logs in when necessary, and once more if a response
/// suggests that the token has expired. If the server is busy, the client waits and retries once. A
/// client is not thread-safe.
class AccountClient {
  public:
    /// `clock` must outlive the client.
    AccountClient(Credentials credentials, Options options, Clock const& clock);

    /// Returns the current value: the first point of the forecast. That point is the value of the
    /// current five minutes. Fails with `data` if the forecast is empty.
    [[nodiscard]] Result<samples::watttime::Points> live(RegionId const& region);

    /// Returns the wait that the last response asked for with Retry-After; zero if it did not ask.
    [[nodiscard]] Seconds retry_after() const { return retry_after_; }
    [[nodiscard]] Options const& options() const { return options_; }

  private:
    struct Query;
    struct Token {
        Secret text;
        Time obtained;
    };
    // An answer, as it came and parsed.
    struct Content {
        json::Value content;
        std::string body;
    };
    [[nodiscard]] Result<Content> fetch(std::string const& path, std::string const& parameters);
    [[nodiscard]] Result<void> log_in(Query& query);
    [[nodiscard]] Result<http::Response> get(http::Request request, Query& query);
    [[nodiscard]] Result<void> load_token();
    void store_token() const;
    [[nodiscard]] bool has_valid_token() const;
    [[nodiscard]] std::string account_hash() const;
    [[nodiscard]] std::filesystem::path token_file() const
    {
        return options_.state_folder / "watttime-token.json";
    }

    Credentials credentials_;
    Options options_;
    Clock const& clock_;
    http::Client http_;
    std::optional<Token> token_;
    bool token_loaded_{false};
    Seconds retry_after_{0};
};

}  // namespace curtail::signals::watttime
