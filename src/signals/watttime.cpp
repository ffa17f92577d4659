// SPDX-License-Identifier: Apache-2.0
#include "signals/watttime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>

#include "core/digest.hpp"
#include "core/files.hpp"
#include "core/private_file.hpp"
#include "core/text.hpp"

namespace curtail::signals::watttime {
namespace {

constexpr Millis longest_wait{5'000};
/// A token this close to its end might expire on the way.
constexpr Seconds token_margin{60};

/// Spread over half a second to one and a half, so that sites started by one cron do not come back
/// together.
Millis usual_wait()
{
    std::random_device random;
    return Millis{std::uniform_int_distribution<int>(500, 1500)(random)};
}

/// Takes a text out of a parsed object as a secret and overwrites it there.
Secret take_secret(json::Value& object, char const* key)
{
    auto const* members = object.as_object();
    auto const* member = members == nullptr ? nullptr : members->find(key);
    auto const* text = member == nullptr ? nullptr : member->as_text();
    if (text == nullptr) return {};
    Secret secret(*text);
    wipe(const_cast<std::string&>(*text));  // `object` is not const, only its accessors are
    return secret;
}

}  // namespace

Result<Credentials> read_credentials(std::filesystem::path const& file)
{
    auto content = read_private_file(file);
    if (!content) return tl::unexpected(content.error());
    if (!*content)
        return fail(ExitCode::no_input, "cannot use " + file.string(), "there is no such file",
                    R"(write {"username": "...", "password": "..."} into it and chmod 600 it)");
    auto value =
        json::parse(**content, file.string(), json::Dialect::comments, json::record_limits);
    wipe(**content);
    if (!value)
        return fail(ExitCode::config, value.error().what, value.error().why, value.error().remedy);
    json::ObjectReader r(*value, file.string(), ExitCode::config);
    Credentials credentials{r.text("username"), {}};
    auto password = r.text("password");
    r.require(!credentials.username.empty() && credentials.username.find(':') == std::string::npos,
              "username", "must not be empty or hold a colon");
    r.require(!password.empty() && password.find('\0') == std::string::npos, "password",
              "must not be empty");
    wipe(password);
    credentials.password = take_secret(*value, "password");
    if (auto error = r.finish()) return tl::unexpected(*error);
    return credentials;
}

/// One question to the provider, with what it may cost.
struct Client::Question {
    Deadline deadline;
    bool waited{false};     ///< asked again once already
    bool logged_in{false};  ///< the token is from this very question
};

Client::Client(Credentials credentials, Options options, Clock const& clock)
    : credentials_(std::move(credentials)),
      options_(std::move(options)),
      clock_(clock),
      http_(options_.ca_file)
{
    while (options_.base_url.ends_with('/')) options_.base_url.pop_back();
    if (!options_.pause)
        options_.pause = [](Millis duration) { std::this_thread::sleep_for(duration); };
}

Result<Points> Client::live(RegionId const& region)
{
    auto found = points("/v3/forecast", "&horizon_hours=0", region);
    if (!found) return found;
    if (found->samples.empty())
        return fail(ExitCode::data,
                    "cannot use the answer of " + options_.base_url + "/v3/forecast",
                    "the forecast is empty");
    found->samples.erase(found->samples.begin() + 1, found->samples.end());
    return found;
}

Result<Points> Client::points(std::string const& path, std::string const& query,
                              RegionId const& region)
{
    // Only a plain name can go into a URL without being escaped, and every region of WattTime is
    // one.
    if (!is_plain_name(region.value))
        return fail(ExitCode::config, "cannot ask WattTime",
                    "\"" + printable(region.value) + "\" is not a region's name",
                    "use a name such as CAISO_NORTH");
    auto const answer =
        ask(path, fmt::format("?region={}&signal_type={}{}", region.value, signal_type, query));
    if (!answer) return tl::unexpected(answer.error());
    return read_points(*answer, region, options_.base_url + path);
}

Result<json::Value> Client::ask(std::string const& path, std::string const& query)
{
    Question question{Deadline(options_.deadline)};
    if (auto recalled = recall_token(); !recalled) return tl::unexpected(recalled.error());
    if (!token_counts()) {
        if (auto done = log_in(question); !done) return tl::unexpected(done.error());
    }
    auto const url = options_.base_url + path;
    for (;;) {
        http::Request request{.url = url + query, .username = {}};
        request.bearer = &token_->text;
        auto const response = get(std::move(request), question);
        if (!response) return tl::unexpected(response.error());
        auto judged = judge(*response, url);
        if (judged.verdict == Verdict::good) return std::move(judged.answer);
        if (judged.verdict != Verdict::log_in || question.logged_in)
            return tl::unexpected(std::move(judged.error));
        if (auto done = log_in(question); !done) return tl::unexpected(done.error());
    }
}

Result<void> Client::log_in(Question& question)
{
    token_.reset();
    auto const url = options_.base_url + "/login";
    http::Request request{.url = url, .username = credentials_.username};
    request.password = &credentials_.password;
    Time const asked = clock_.now();
    auto response = get(std::move(request), question);
    if (!response) return tl::unexpected(response.error());
    if (response->status != 200) return tl::unexpected(login_error(*response, url));
    auto token = read_token(response->body, url);
    wipe(response->body);
    if (!token) return tl::unexpected(token.error());
    token_ = Token{std::move(*token), asked};
    question.logged_in = true;
    if (options_.writes) keep_token();
    return {};
}

Result<http::Response> Client::get(http::Request request, Question& question)
{
    for (;;) {
        request.deadline = question.deadline.left();
        if (request.deadline == Millis{0})
            return fail(ExitCode::temporary, "cannot ask " + options_.base_url,
                        "no whole answer within " + format_duration(options_.deadline),
                        "it will be asked again");
        auto response = http_.get(request);
        asked_rest_ = response ? response->retry_after.value_or(Seconds{0}) : Seconds{0};
        bool const busy = response ? response->status == 429 || response->status >= 500
                                   : response.error().code == ExitCode::temporary;
        if (!busy || question.waited) return response;
        Millis const wait =
            response && response->retry_after ? Millis(*response->retry_after) : usual_wait();
        if (wait > longest_wait || wait >= question.deadline.left()) return response;
        question.waited = true;
        options_.pause(wait);
    }
}

std::string Client::account() const
{
    return sha256(options_.base_url + "\n" + credentials_.username).hex();
}

bool Client::token_counts() const
{
    if (!token_) return false;
    auto const age = clock_.now() - token_->obtained;
    return age >= Millis{0} && age < token_life - token_margin;
}

Result<void> Client::recall_token()
{
    if (recalled_) return {};
    if (options_.writes)
        if (auto checked = ensure_private_folder(options_.state_folder); !checked) return checked;
    auto content = read_private_file(token_file());
    if (!content) return tl::unexpected(content.error());
    recalled_ = true;
    if (!*content) return {};
    auto value =
        json::parse(**content, token_file().string(), json::Dialect::strict, json::record_limits);
    wipe(**content);
    if (!value) return {};  // a damaged cache costs one login
    auto token = take_secret(*value, "token");
    json::ObjectReader r(*value, token_file().string());
    auto const owner = r.text("account");
    auto const obtained = parse_time(r.text("obtained"));
    if (owner == account() && obtained && !token.empty())
        token_ = Token{std::move(token), *obtained};
    return {};
}

void Client::keep_token() const
{
    // Written by hand: a JSON value would leave copies of the token behind.
    std::string text(token_->text.reveal());
    bool const needs_escapes = std::any_of(text.begin(), text.end(), [](char c) {
        return c <= ' ' || c == '"' || c == '\\' || c == '\x7f';
    });
    if (!needs_escapes) {
        auto content = fmt::format("{{\"account\":\"{}\",\"obtained\":\"{}\",\"token\":\"{}\"}}\n",
                                   account(), format_time(token_->obtained), text);
        if (auto written = write_file(token_file(), content, 0600); !written)
            options_.log.warning(written.error().message() + "; the next run logs in again");
        wipe(content);
    }
    wipe(text);
}

}  // namespace curtail::signals::watttime
