// SPDX-License-Identifier: Apache-2.0
#include "poller/signals/watttime_responses.hpp"

#include <fmt/format.h>

#include "base/core/text.hpp"

namespace curtail::signals::watttime {
namespace {

// The error for a body that is no JSON. An HTML page is that of a portal, or of a server under
// maintenance.
Error not_json(std::string const& body, std::string const& what, std::string why)
{
    auto const begin = trim(without_byte_order_mark(body));
    if (!begin.starts_with('<')) return {ExitCode::data, what, std::move(why), ""};
    return {ExitCode::temporary, what, "it is an HTML page, not JSON",
            "will retry; is there a portal or a proxy between this machine and the provider?"};
}

// Returns what the provider says about a failure.
std::string explanation_of(json::Value const& response)
{
    auto const* object = response.as_object();
    if (object == nullptr) return "";
    auto const error = printable(object->text_at("error"));
    auto const message = printable(object->text_at("message"));
    return error + (error.empty() || message.empty() ? "" : ": ") + message;
}

bool is_refusal(http::Response const& response)
{
    return response.status == 401 || response.status == 403;
}

Error busy_error(http::Response const& response, std::string const& what)
{
    auto const why = response.status == 429
                         ? std::string("too many requests (HTTP 429)")
                         : fmt::format("the server has a problem (HTTP {})", response.status);
    return {ExitCode::temporary, what, why, "will retry"};
}

// For a status other than 200 that is not a sign of a busy server.
Interpretation interpret_failure(http::Response const& response, std::string const& what,
                                 std::string const& explanation)
{
    auto const why =
        fmt::format("HTTP {}{}{}", response.status, explanation.empty() ? "" : ", ", explanation);
    if (response.status == 403 && explanation.find("scope") != std::string::npos)
        return {Interpretation::Kind::no_access,
                {},
                {ExitCode::permission, what,
                 "this account has no access to that region or signal (" + explanation + ")",
                 "free accounts can access only CAISO_NORTH: use that region, or a WattTime plan "
                 "that includes yours"}};
    if (is_refusal(response))
        return {Interpretation::Kind::log_in,
                {},
                {ExitCode::permission, what, "WattTime rejected a new token (" + why + ")",
                 "check the account at WattTime"}};
    auto const code =
        response.status == 400 || response.status == 404 ? ExitCode::config : ExitCode::data;
    return {Interpretation::Kind::unexpected, {}, {code, what, why, ""}};
}

}  // namespace

Secret take_secret(json::Value& object, char const* key)
{
    auto const* members = object.as_object();
    auto const* member = members == nullptr ? nullptr : members->find(key);
    auto const* text = member == nullptr ? nullptr : member->as_text();
    if (text == nullptr || text->find('\0') != std::string::npos) return {};
    Secret secret(*text);
    wipe(const_cast<std::string&>(*text));  // `object` is not const, only its accessors are
    return secret;
}

bool is_busy(http::Response const& response)
{
    return response.status == 429 || response.status >= 500;
}

Result<Secret> read_token(std::string const& body, std::string const& source)
{
    auto response = json::parse(body, source, json::Dialect::strict, json::record_limits);
    if (!response)
        return tl::unexpected(
            not_json(body, "cannot use the response of " + source, "it is not JSON"));
    auto token = take_secret(*response, "token");
    if (token.empty())
        return fail(ExitCode::data, "cannot use the response of " + source, "it has no token");
    return token;
}

Interpretation interpret(http::Response const& response, std::string const& source)
{
    auto const what = "cannot use the response of " + source;
    if (is_busy(response)) return {Interpretation::Kind::try_later, {}, busy_error(response, what)};
    auto parsed = json::parse(response.body, source, json::Dialect::strict, json::response_limits);
    if (response.status != 200)
        return interpret_failure(response, what, parsed ? explanation_of(*parsed) : "");
    if (!parsed)
        return {
            Interpretation::Kind::log_in, {}, not_json(response.body, what, parsed.error().why)};
    return {Interpretation::Kind::good, std::move(*parsed), {}};
}

Error login_error(http::Response const& response, std::string const& source)
{
    auto const what = "cannot log in at " + source;
    if (is_busy(response)) return busy_error(response, what);
    if (is_refusal(response))
        return {ExitCode::permission, what,
                fmt::format("wrong user name or password (HTTP {})", response.status),
                "correct the credentials file"};
    return {ExitCode::data, what, fmt::format("HTTP {}", response.status), "check the address"};
}

}  // namespace curtail::signals::watttime
