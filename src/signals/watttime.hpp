// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"
#include "http/client.hpp"
#include "signals/watttime_answers.hpp"

/// WattTime's API, v3 (https://docs.watttime.org): marginal emissions of grid regions.
namespace curtail::signals::watttime {

struct Credentials {
    std::string username;
    Secret password;
};
/// `{"username": ..., "password": ...}` in a file of mode 0600. `no_input` if it does not exist,
/// `permission` with the chmod to type if others can read it, `config` if it says something else.
[[nodiscard]] Result<Credentials> read_credentials(std::filesystem::path const& file);

struct Options {
    std::string base_url{"https://api.watttime.org"};
    std::filesystem::path ca_file;       ///< certificates to trust instead of the system's
    std::filesystem::path state_folder;  ///< mode 0700; keeps the token, so that a run each minute
                                         ///< does not log in each minute
    std::filesystem::path credentials_file;  ///< where the account was read; when it changes, an
                                             ///< earlier refusal counts no more
    bool writes{true};  ///< false, for a dry run: what lies in state_folder is used, and nothing is
                        ///< made or changed
    Millis deadline{10'000};  ///< for one question in all: login, waiting and asking again included
    std::function<void(Millis)> pause;  ///< how to wait before asking again; empty: sleep
    Log log;                            ///< what went wrong without doing harm
};

inline constexpr Seconds token_life{30 * 60};

/// One account. Logs in when it has to, once more when an answer looks like an expired token, and
/// asks again once, after a wait, when the server is busy. One thread at a time.
class Client {
  public:
    /// `clock` must outlive the client.
    Client(Credentials credentials, Options options, Clock const& clock);

    /// The live value: the first point of the forecast, which covers the current five minutes.
    /// `data` if the forecast is empty.
    [[nodiscard]] Result<Points> live(RegionId const& region);

    /// How long the server asked to be left alone, in its last answer.
    [[nodiscard]] Seconds asked_rest() const { return asked_rest_; }
    [[nodiscard]] Options const& options() const { return options_; }

  private:
    struct Question;
    struct Token {
        Secret text;
        Time obtained;
    };
    [[nodiscard]] Result<Points> points(std::string const& path, std::string const& query,
                                        RegionId const& region);
    [[nodiscard]] Result<json::Value> ask(std::string const& path, std::string const& query);
    [[nodiscard]] Result<void> log_in(Question& question);
    [[nodiscard]] Result<http::Response> get(http::Request request, Question& question);
    [[nodiscard]] Result<void> recall_token();
    void keep_token() const;
    [[nodiscard]] bool token_counts() const;
    [[nodiscard]] std::string account() const;
    [[nodiscard]] std::filesystem::path token_file() const
    {
        return options_.state_folder / "watttime-token.json";
    }

    Credentials credentials_;
    Options options_;
    Clock const& clock_;
    http::Client http_;
    std::optional<Token> token_;
    bool recalled_{false};
    Seconds asked_rest_{0};
};

}  // namespace curtail::signals::watttime
