// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/text.hpp"
#include "storage/s3/answers.hpp"

namespace curtail::s3 {
namespace {

using Remedy = Failure::Remedy;

// What an error code of S3 means.
struct CodeMeaning {
    std::string_view code;
    ExitCode exit;
    Remedy remedy;
    char const* advice;
};

constexpr std::array meanings{
    CodeMeaning{"AccessDenied", ExitCode::permission, Remedy::none,
                "check the rights of the key in the bucket's policy"},
    CodeMeaning{"SignatureDoesNotMatch", ExitCode::permission, Remedy::renew_key,
                "check the secret key and the region"},
    CodeMeaning{"InvalidAccessKeyId", ExitCode::permission, Remedy::renew_key,
                "check the access key ID"},
    CodeMeaning{"InvalidToken", ExitCode::permission, Remedy::renew_key, "renew the session token"},
    CodeMeaning{"ExpiredToken", ExitCode::permission, Remedy::renew_key, "renew the credentials"},
    CodeMeaning{"TokenRefreshRequired", ExitCode::permission, Remedy::renew_key,
                "renew the credentials"},
    CodeMeaning{"RequestTimeTooSkewed", ExitCode::permission, Remedy::set_clock,
                "set this machine's clock"},
    CodeMeaning{"NoSuchBucket", ExitCode::unavailable, Remedy::none,
                "create the bucket, or correct `store` in the run file"},
    CodeMeaning{"NoSuchUpload", ExitCode::temporary, Remedy::none, ""},
    CodeMeaning{"AuthorizationHeaderMalformed", ExitCode::config, Remedy::none, "check the region"},
    CodeMeaning{"PermanentRedirect", ExitCode::config, Remedy::none,
                "check the endpoint and the region"},
    CodeMeaning{"QuotaExceeded", ExitCode::io, Remedy::none, "free some space, or raise the quota"},
    CodeMeaning{"InsufficientStorage", ExitCode::io, Remedy::none, "free some space"},
    CodeMeaning{"BadDigest", ExitCode::io, Remedy::wait, "check the network"},
    CodeMeaning{"XAmzContentSHA256Mismatch", ExitCode::io, Remedy::wait, "check the network"},
    CodeMeaning{"RequestTimeout", ExitCode::temporary, Remedy::wait, ""},
    CodeMeaning{"SlowDown", ExitCode::temporary, Remedy::slow_down, ""},
    CodeMeaning{"ServiceUnavailable", ExitCode::temporary, Remedy::slow_down, ""},
};

// Also status 200: a server that begins its response early reports an error in the body.
bool may_pass(long status)
{
    return status < 300 || status == 408 || status == 409 || status >= 500;
}

CodeMeaning meaning_of_status(long status)
{
    if (status == 429 || status == 503) return {"", ExitCode::temporary, Remedy::slow_down, ""};
    if (status == 507)
        return {"", ExitCode::io, Remedy::none, "free some space in the object storage"};
    if (status == 404)
        return {"", ExitCode::unavailable, Remedy::wait,
                "check the endpoint, and the proxy or load balancer before it"};
    if (may_pass(status)) return {"", ExitCode::temporary, Remedy::wait, ""};
    if (status == 401 || status == 403)
        return {"", ExitCode::permission, Remedy::none, "check the credentials and their rights"};
    if (status >= 300 && status < 400)
        return {"", ExitCode::config, Remedy::none, "check the endpoint and the region"};
    return {"", ExitCode::protocol, Remedy::none, "check that the endpoint is an S3 server"};
}

CodeMeaning meaning_of(long status, std::string_view code)
{
    auto const found = std::find_if(meanings.begin(), meanings.end(),
                                    [&](CodeMeaning const& known) { return known.code == code; });
    return found != meanings.end() ? *found : meaning_of_status(status);
}

}  // namespace

bool is_answer(http::Method method, http::Response const& response)
{
    auto const status = response.status;
    if (status == 404 && method == http::Method::head) return true;
    auto const code = parse_error(response.body).code;
    if (status == 404) return code == "NoSuchKey" || code == "NoSuchUpload";
    if (response.is_success()) return code.empty();
    return status == 304 || status == 412 || status == 416;
}

Failure failure_of(http::Response const& response, std::string const& what)
{
    auto const [code, message] = parse_error(response.body);
    auto const meaning = meaning_of(response.status, code);
    auto why = fmt::format("the object storage answers with status {}", response.status);
    if (!code.empty()) why += " " + printable(code);
    if (!message.empty()) why += ": " + printable(message);
    return {
        {meaning.exit, what, std::move(why), meaning.advice}, meaning.remedy, response.retry_after};
}

Failure failure_of(Error const& error, std::string const& what)
{
    auto const remedy = error.code == ExitCode::temporary ? Remedy::wait : Remedy::none;
    auto const code = error.code == ExitCode::data ? ExitCode::protocol : error.code;
    return {{code, what, error.why, error.remedy}, remedy};
}

Millis pause_before(int attempt, double random, std::optional<Seconds> retry_after)
{
    constexpr Millis first{100};
    constexpr Millis longest{5'000};
    constexpr Millis longest_asked{30'000};
    auto const exponent = std::clamp(attempt - 2, 0, 10);
    auto const pause = std::min(longest, first * (1 << exponent));
    Millis const jittered(static_cast<std::int64_t>(static_cast<double>(pause.count()) *
                                                    (1 - 0.5 * std::clamp(random, 0.0, 1.0))));
    if (!retry_after) return jittered;
    return std::clamp<Millis>(*retry_after, jittered, longest_asked);
}

}  // namespace curtail::s3
