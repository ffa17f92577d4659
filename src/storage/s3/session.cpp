// SPDX-License-Identifier: Apache-2.0
#include "storage/s3/session.hpp"

#include <algorithm>

#include "storage/s3/signature.hpp"

namespace curtail::s3 {
namespace {

constexpr Millis stall_limit{30'000};
constexpr int most_parallel = 64;

// For a body of this size at 128 KiB/s, and a minute for everything else. The stall limit ends a
// transfer that hangs much earlier.
Millis deadline_for(std::size_t bytes)
{
    return Millis{60'000} + Millis{static_cast<std::int64_t>(bytes >> 7)};
}

}  // namespace

// Takes an idle client, or makes one, and gives it back.
struct Session::Lease {
    explicit Lease(Session& owner) : session(owner)
    {
        std::lock_guard const guard(session.mutex_);
        if (session.idle_.empty()) return;
        client = std::move(session.idle_.back());
        session.idle_.pop_back();
    }
    ~Lease()
    {
        std::lock_guard const guard(session.mutex_);
        session.idle_.push_back(std::move(client));
    }
    Lease(Lease const&) = delete;
    Lease& operator=(Lease const&) = delete;
    http::Client& operator*()
    {
        if (!client) client = std::make_unique<http::Client>(session.connection_);
        return *client;
    }

    Session& session;
    std::unique_ptr<http::Client> client;
};

Session::Session(Location location, std::shared_ptr<CredentialSource> credential_source,
                 http::ConnectionSettings connection, std::shared_ptr<Clock const> clock)
    : location_(std::move(location)),
      credential_source_(std::move(credential_source)),
      connection_(std::move(connection)),
      clock_(std::move(clock)),
      random_(std::random_device{}()),
      parallelism_(most_parallel)
{
}
Session::~Session() = default;

Time Session::now() const { return clock_->now() + clock_offset(); }

Session::Attempt Session::send_signed(BucketRequest const& request, Credentials const& credentials,
                                      CallLimits const& call)
{
    auto const address = address_of(location_, request.key);
    auto const digest = request.body_digest ? *request.body_digest : sha256_of(request.body);
    auto const signed_request = sign({.method = request.method,
                                      .host = address.host,
                                      .path = address.path,
                                      .query = request.query,
                                      .headers = request.headers,
                                      .body_sha256 = digest.hex()},
                                     credentials, location_.region, now());
    http::Request http_request{.url = address.scheme_and_host + signed_request.target,
                               .username = {},
                               .body_limit = answer_limit,
                               .method = request.method,
                               .headers = signed_request.headers,
                               .body = request.body,
                               .sink = request.sink,
                               .stall_limit = stall_limit,
                               .cancel = call.cancel,
                               .allow_http = location_.allow_http,
                               .once = request.once};
    http_request.deadline =
        call.time_left(deadline_for(request.sink ? std::size_t{5} << 30 : request.body.size()));
    Lease client(*this);
    auto response = (*client).send(http_request);
    if (!response) return tl::unexpected(failure_of(response.error(), request.what));
    if (is_answer(request.method, *response)) return std::move(*response);
    auto failure = failure_of(*response, request.what);
    // The response to HEAD has no body, so it does not say why the server refuses.
    bool const refused = response->status == 400 || response->status == 403;
    if (request.method == http::Method::head && refused)
        failure.remedy =
            clock_differs(*response) ? Failure::Remedy::set_clock : Failure::Remedy::renew_key;
    if (failure.remedy == Failure::Remedy::set_clock && !correct_clock(*response))
        failure.remedy = Failure::Remedy::none;
    return tl::unexpected(std::move(failure));
}

bool Session::clock_differs(http::Response const& response) const
{
    constexpr Seconds tolerated{600};  // servers tolerate 15 minutes
    auto const server = http::parse_date(response.header("date"));
    return server && (*server - now() > tolerated || now() - *server > tolerated);
}

bool Session::correct_clock(http::Response const& response)
{
    auto const server = http::parse_date(response.header("date"));
    if (!server) return false;
    clock_offset_ms_ = (*server - clock_->now()).count();
    return true;
}

Session::Attempt Session::attempt(BucketRequest const& request, CallLimits const& call)
{
    for (bool second = false;; second = true) {
        auto const credentials = credential_source_->get(now(), call);
        if (!credentials) return tl::unexpected(failure_of(credentials.error(), request.what));
        auto response = send_signed(request, **credentials, call);
        if (response || second) return response;
        auto const remedy = response.error().remedy;
        bool const corrected = remedy == Failure::Remedy::set_clock ||
                               (remedy == Failure::Remedy::renew_key &&
                                credential_source_->renew(*credentials, now()));
        if (!corrected) return response;
    }
}

Result<http::Response> Session::repeat(std::function<Attempt()> const& once, CallLimits const& call)
{
    for (int number = 1;; ++number) {
        auto response = once();
        if (response) return std::move(*response);
        auto& failure = response.error();
        if (failure.remedy == Failure::Remedy::slow_down) slow_down();
        bool const may_help =
            failure.remedy == Failure::Remedy::wait || failure.remedy == Failure::Remedy::slow_down;
        if (may_help && number < tries && wait_before(number + 1, failure, call)) continue;
        if (call.cancel.stop_requested()) failure.error.why = "the operation was cancelled";
        return tl::unexpected(std::move(failure.error));
    }
}

Result<http::Response> Session::send(BucketRequest const& request, CallLimits const& call)
{
    return repeat([&] { return attempt(request, call); }, call);
}

Result<http::Response> Session::expect_success(BucketRequest const& request, CallLimits const& call)
{
    auto response = send(request, call);
    if (response && !response->is_success())
        return tl::unexpected(failure_of(*response, request.what).error);
    return response;
}

Result<void> Session::remove(BucketRequest const& request, CallLimits const& call)
{
    auto const response = send(request, call);
    if (!response) return tl::unexpected(response.error());
    if (response->is_success() || response->status == 404) return {};
    return tl::unexpected(failure_of(*response, request.what).error);
}

bool Session::wait_before(int attempt, Failure const& failure, CallLimits const& call)
{
    double random = 0;
    {
        std::lock_guard const guard(mutex_);
        random = std::uniform_real_distribution<>(0, 1)(random_);
    }
    auto pause = pause_before(attempt, random, failure.retry_after);
    if (call.until) pause = std::min(pause, (*call.until - monotonic_now()) / 2);
    sleep_unless_stopped(call.cancel, pause);
    return !call.is_over();
}

void Session::slow_down()
{
    std::lock_guard const guard(mutex_);
    parallelism_ = std::max(1, std::min(parallelism_, asked_parallelism_) / 2);
}

int Session::parallelism(int most)
{
    std::lock_guard const guard(mutex_);
    asked_parallelism_ = std::max(most, 1);
    return std::min(parallelism_, asked_parallelism_);
}

void Session::transferred()
{
    std::lock_guard const guard(mutex_);
    parallelism_ = std::min(parallelism_ + 1, most_parallel);
}

}  // namespace curtail::s3
