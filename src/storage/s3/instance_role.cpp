// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/instance_role.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/text.hpp"
#include "base/http/client.hpp"
#include "base/http/url.hpp"
#include "storage/s3/credentials_json.hpp"

namespace curtail::s3 {
namespace {

constexpr Millis deadline{5'000};
constexpr std::size_t body_limit = std::size_t{64} << 10;
constexpr char const* role_path = "/latest/meta-data/iam/security-credentials/";

// The body of a successful response.
Result<std::string> ask(http::Client& client, http::Request request, CallLimits const& call)
{
    request.deadline = call.time_left(deadline);
    request.cancel = call.cancel;
    request.body_limit = body_limit;
    request.allow_http = true;  // the service answers only on the machine's own network
    auto response = client.send(request);
    if (!response) return tl::unexpected(response.error());
    if (response->status == 200) return std::move(response->body);
    bool const later = response->status >= 500 || response->status == 429;
    return fail(later ? ExitCode::temporary : ExitCode::permission,
                "cannot get credentials from " + http::without_query(request.url),
                fmt::format("the service answers with status {}", response->status),
                "check the role of this machine or container");
}

}  // namespace

Result<Credentials> instance_role_credentials(std::string const& url, CallLimits const& call)
{
    http::Client client({.direct = true});
    auto token = ask(client,
                     {.url = url + "/latest/api/token",
                      .username = {},
                      .method = http::Method::put,
                      .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "300"}}},
                     call);
    if (!token) return tl::unexpected(token.error());
    std::vector<http::HeaderField> const headers{{"X-aws-ec2-metadata-token", *token}};
    auto const roles =
        ask(client, {.url = url + role_path, .username = {}, .headers = headers}, call);
    if (!roles) return tl::unexpected(roles.error());
    std::string const role(trim(split(*roles, '\n').front()));
    auto answer =
        ask(client, {.url = url + role_path + role, .username = {}, .headers = headers}, call);
    if (!answer) return tl::unexpected(answer.error());
    return credentials_from_json(*answer, "Token", url);
}

Result<void> check_container_url(std::string const& url)
{
    constexpr std::array<std::string_view, 3> known{"169.254.170.2", "169.254.170.23",
                                                    "[fd00:ec2::23]"};
    auto const parsed = http::parse_url(url);
    bool const allow_http =
        parsed && std::find(known.begin(), known.end(), parsed->host) != known.end();
    return http::check_url(url, "cannot get credentials from " + http::without_query(url),
                           allow_http)
        .map([](http::Url const&) {});
}

Result<Credentials> container_credentials(std::string const& url, Secret const& token,
                                          CallLimits const& call)
{
    if (auto good = check_container_url(url); !good) return tl::unexpected(good.error());
    http::Client client({.direct = true});
    http::Request request{.url = url, .username = {}};
    if (!token.empty()) request.headers = {{"Authorization", token.reveal()}};
    auto answer = ask(client, std::move(request), call);
    if (!answer) return tl::unexpected(answer.error());
    return credentials_from_json(*answer, "Token", http::without_query(url));
}

}  // namespace curtail::s3
