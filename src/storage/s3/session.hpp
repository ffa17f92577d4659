// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <random>

#include "base/core/call_limits.hpp"
#include "base/http/client.hpp"
#include "storage/s3/credential_source.hpp"
#include "storage/s3/failure.hpp"
#include "storage/s3/location.hpp"

namespace curtail::s3 {

/// One request, before it is signed.
struct BucketRequest {
    http::Method method{http::Method::get};
    std::string key;  ///< of the object, without the location's prefix; empty: the bucket itself
    std::vector<std::pair<std::string, std::string>> query{};
    std::vector<http::HeaderField> headers{};
    Pieces body{};
    std::optional<Digest> body_digest{};  ///< of `body`; computed if empty
    http::Sink sink{};                    ///< see http::Request::sink
    std::string what{};                   ///< the operation, for messages: "cannot read x"
    bool once{false};                     ///< see http::Request::once
};

/// Largest accepted response without a sink: a page of a listing.
inline constexpr std::size_t answer_limit = std::size_t{4} << 20;

/// Sends signed requests to one location. An operation that consists of many requests keeps within
/// its CallLimits: it ends within a second of a stop request, and fails with `temporary` when its
/// time is over. Keeps connections open, corrects the clock, renews credentials and repeats
/// requests. Thread-safe.
class Session {
  public:
    /// A response that settles a request (see is_answer()), or why there is none.
    using Attempt = tl::expected<http::Response, Failure>;

    /// `location` must be complete. `now` reads this machine's clock.
    Session(Location location, std::shared_ptr<CredentialSource> credential_source,
            http::ConnectionSettings connection, std::shared_ptr<Clock const> clock);
    ~Session();

    /// Sends a request once. Sends it a second time if the server rejects the clock or the
    /// credentials and these can be corrected. A rejected request has no effect.
    [[nodiscard]] Attempt attempt(BucketRequest const& request, CallLimits const& call);
    /// Sends a request up to `tries` times, until there is an answer or repeating is useless.
    [[nodiscard]] Result<http::Response> send(BucketRequest const& request, CallLimits const& call);
    /// Sends a request in the same way. Fails if the status of the answer is not 200 to 299.
    [[nodiscard]] Result<http::Response> expect_success(BucketRequest const& request,
                                                        CallLimits const& call);
    /// Sends a request that removes something. Succeeds also if it does not exist.
    [[nodiscard]] Result<void> remove(BucketRequest const& request, CallLimits const& call);
    /// Calls `once` in the same way as send().
    [[nodiscard]] Result<http::Response> repeat(std::function<Attempt()> const& once,
                                                CallLimits const& call);

    static constexpr int tries = 5;

    [[nodiscard]] Location const& location() const { return location_; }
    /// Returns how many requests a transfer may send at a time: at most `most`, and half as many
    /// after each SlowDown.
    [[nodiscard]] int parallelism(int most);
    /// Says that a transfer has succeeded. Then the next one may send one more request at a time.
    void transferred();
    /// Returns how far the server's clock is ahead of this machine's, as far as this is known.
    [[nodiscard]] Millis clock_offset() const { return Millis{clock_offset_ms_.load()}; }

  private:
    struct Lease;
    [[nodiscard]] Attempt send_signed(BucketRequest const& request, Credentials const& credentials,
                                      CallLimits const& call);
    /// Returns whether the server's clock differs so much that it may reject requests.
    [[nodiscard]] bool clock_differs(http::Response const& response) const;
    [[nodiscard]] bool correct_clock(http::Response const& response);
    /// Waits before attempt number `attempt`, for at most half of the time that is left to the
    /// call. Returns false if the call is over.
    [[nodiscard]] bool wait_before(int attempt, Failure const& failure, CallLimits const& call);
    void slow_down();
    [[nodiscard]] Time now() const;

    Location location_;
    std::shared_ptr<CredentialSource> credential_source_;
    http::ConnectionSettings connection_;
    std::shared_ptr<Clock const> clock_;
    std::atomic<std::int64_t> clock_offset_ms_{0};
    std::mutex mutex_;
    std::vector<std::unique_ptr<http::Client>> idle_;
    std::minstd_rand random_;
    int parallelism_;
    int asked_parallelism_{1};  ///< the last argument of parallelism()
};

}  // namespace curtail::s3
