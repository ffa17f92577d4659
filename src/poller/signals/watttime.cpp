// SPDX-License-Identifier: Apache-2.0
#include "poller/signals/watttime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>

#include "base/compress/gzip.hpp"
#include "base/core/base64.hpp"
#include "base/core/digest.hpp"
#include "base/core/files.hpp"
#include "base/core/private_file.hpp"
#include "base/core/text.hpp"

namespace curtail::signals::watttime {
namespace {

constexpr Millis max_wait{5'000};
// A token this close to its end might expire before the request arrives.
constexpr Seconds token_margin{60};

// 0.5 to 1.5 s at random, so that sites started by the same cron entry do not retry together.
Millis random_wait()
{
    std::random_device random;
    return Millis{std::uniform_int_distribution<int>(500, 1500)(random)};
}

Result<Credentials> read_account(json::Value& value, std::string const& file)
{
    json::ObjectReader r(value, file, ExitCode::config);
    Credentials credentials{r.text("username"), {}};
    auto password = r.text("password");
    r.require(!credentials.username.empty() && credentials.username.find(':') == std::string::npos,
              "username", "must not be empty or contain a colon");
    r.require(!password.empty() && password.find('\0') == std::string::npos, "password",
              "must not be empty");
    wipe(password);
    credentials.password = take_secret(value, "password");
    if (auto error = r.finish()) return tl::unexpected(*error);
    return credentials;
}

// Returns whether a later attempt may succeed.
bool may_pass(Result<http::Response> const& response)
{
    return response ? is_busy(*response) : response.error().code == ExitCode::temporary;
}

// Returns whether `text` needs no escapes in JSON.
bool is_plain_text(std::string_view text)
{
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c > ' ' && c != '"' && c != '\\' && c != '\x7f'; });
}

}  // namespace

Result<Credentials> read_credentials(std::filesystem::path const& file)
{
    auto content = read_private_file(file);
    if (!content) return tl::unexpected(content.error());
    if (!*content)
        return fail(ExitCode::no_input, "cannot use " + file.string(), "the file does not exist",
                    R"(write {"username": "...", "password": "..."} into it and chmod 600 it)");
    auto value =
        json::parse(**content, file.string(), json::Dialect::comments, json::record_limits);
    wipe(**content);
    if (!value)
        return fail(ExitCode::config, value.error().what, value.error().why, value.error().remedy);
    return read_account(*value, file.string());
}

// One query to the provider and its budget.
struct AccountClient::Query {
    std::string url;  // without parameters
    MonoTime end;
    [[nodiscard]] Millis time_left() const { return std::max(Millis{0}, end - monotonic_now()); }
    bool retried{false};
    bool logged_in{false};  // the token was obtained by this query
};

AccountClient::AccountClient(Credentials credentials, Options options, Clock const& clock)
    : credentials_(std::move(credentials)),
      options_(std::move(options)),
      clock_(clock),
      http_({options_.ca_file, {}})
{
    while (options_.base_url.ends_with('/')) options_.base_url.pop_back();
    if (!options_.pause)
        options_.pause = [](Millis duration) { std::this_thread::sleep_for(duration); };
}

Result<samples::watttime::Points> AccountClient::live(RegionId const& region)
{
    // Only a plain name needs no escapes in a URL. All of WattTime's regions have plain names.
    if (!is_plain_name(region.value))
        return fail(ExitCode::config, "cannot query WattTime",
                    "\"" + printable(region.value) + "\" is not the name of a region",
                    "use a name such as CAISO_NORTH");
    std::string const path = "/v3/forecast";
    auto const response = fetch(path, fmt::format("?region={}&signal_type={}&horizon_hours=0",
                                                  region.value, samples::watttime::signal_type));
    if (!response) return tl::unexpected(response.error());
    auto points =
        samples::watttime::read_points(response->content, region, options_.base_url + path);
    if (!points) return points;
    if (points->samples.empty())
        return fail(ExitCode::data, "cannot use the response of " + options_.base_url + path,
                    "the forecast is empty");
    points->samples.erase(points->samples.begin() + 1, points->samples.end());
    auto& origin = *points->samples.front().origin;
    origin.endpoint = options_.base_url + path;
    origin.received = clock_.now();
    if (response->body.size() > samples::SampleOrigin::longest_body) return points;
    auto answer = to_base64(gzip(response->body));
    if (answer.size() <= samples::SampleOrigin::longest_answer) origin.answer = std::move(answer);
    return points;
}

Result<AccountClient::Content> AccountClient::fetch(std::string const& path,
                                                    std::string const& parameters)
{
    Query query{options_.base_url + path, monotonic_now() + options_.deadline};
    if (auto loaded = load_token(); !loaded) return tl::unexpected(loaded.error());
    if (!has_valid_token())
        if (auto done = log_in(query); !done) return tl::unexpected(done.error());
    for (;;) {
        http::Request request{.url = query.url + parameters, .username = {}};
        request.bearer = &token_->text;
        auto const response = get(std::move(request), query);
        if (!response) return tl::unexpected(response.error());
        auto interpretation = interpret(*response, query.url);
        if (interpretation.kind == Interpretation::Kind::good)
            return Content{std::move(interpretation.content), response->body};
        if (interpretation.kind != Interpretation::Kind::log_in || query.logged_in)
            return tl::unexpected(std::move(interpretation.error));
        if (auto done = log_in(query); !done) return tl::unexpected(done.error());
    }
}

Result<void> AccountClient::log_in(Query& query)
{
    token_.reset();
    auto const url = options_.base_url + "/login";
    http::Request request{.url = url, .username = credentials_.username};
    request.password = &credentials_.password;
    Time const requested = clock_.now();
    auto response = get(std::move(request), query);
    if (!response) return tl::unexpected(response.error());
    if (response->status != 200) return tl::unexpected(login_error(*response, url));
    auto token = read_token(response->body, url);
    wipe(response->body);
    if (!token) return tl::unexpected(token.error());
    token_ = Token{std::move(*token), requested};
    query.logged_in = true;
    if (options_.writes) store_token();
    return {};
}

Result<http::Response> AccountClient::get(http::Request request, Query& query)
{
    for (;;) {
        request.deadline = query.time_left();
        if (request.deadline == Millis{0})
            return fail(ExitCode::temporary, "cannot get " + query.url,
                        "no complete response within " + format_duration(options_.deadline),
                        "will retry");
        auto response = http_.send(request);
        auto const requested_wait = response ? response->retry_after : std::nullopt;
        retry_after_ = requested_wait.value_or(Seconds{0});
        if (!may_pass(response) || query.retried) return response;
        Millis const wait = requested_wait ? Millis(*requested_wait) : random_wait();
        if (wait > max_wait || wait >= query.time_left()) return response;
        query.retried = true;
        options_.pause(wait);
    }
}

std::string AccountClient::account_hash() const
{
    return sha256(options_.base_url + "\n" + credentials_.username).hex();
}

bool AccountClient::has_valid_token() const
{
    if (!token_) return false;
    auto const age = clock_.now() - token_->obtained;
    return age >= Millis{0} && age < token_life - token_margin;
}

Result<void> AccountClient::load_token()
{
    if (token_loaded_) return {};
    if (options_.writes)
        if (auto checked = ensure_private_folder(options_.state_folder); !checked) return checked;
    auto content = read_private_file(token_file());
    if (!content) return tl::unexpected(content.error());
    token_loaded_ = true;
    if (!*content) return {};
    auto value =
        json::parse(**content, token_file().string(), json::Dialect::strict, json::record_limits);
    wipe(**content);
    if (!value) return {};  // a damaged file costs only one login
    auto token = take_secret(*value, "token");
    json::ObjectReader r(*value, token_file().string());
    auto const account = r.text("account");
    auto const obtained = parse_time(r.text("obtained"));
    if (account == account_hash() && obtained && !token.empty())
        token_ = Token{std::move(token), *obtained};
    return {};
}

void AccountClient::store_token() const
{
    // Formatted without json::Value, which would leave copies of the token in memory.
    std::string text(token_->text.reveal());
    if (is_plain_text(text)) {
        auto content = fmt::format("{{\"account\":\"{}\",\"obtained\":\"{}\",\"token\":\"{}\"}}\n",
                                   account_hash(), format_time(token_->obtained), text);
        if (auto written = write_file(token_file(), content, 0600); !written)
            options_.log.warning(written.error().message() + "; the next run will log in again");
        wipe(content);
    }
    wipe(text);
}

}  // namespace curtail::signals::watttime
