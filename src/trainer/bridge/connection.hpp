// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/core/units.hpp"
#include "trainer/bridge/frame.hpp"
#include "trainer/bridge/offers.hpp"
#include "trainer/bridge/stream.hpp"

namespace curtail::bridge {

/// How the two ends of a connection know each other. The store gives each end both tokens.
struct MeetingTokens {
    std::string own;    ///< what the other end must show
    std::string other;  ///< what this end shows
};

/// The connection of this site's leader with another site's leader. Gives what this site offers,
/// and fetches what the other one offers. Never changes what it gives, and trusts nothing that
/// arrives: whatever the other end does, it costs at most the time limits below.
///
/// The connection ends if the other end breaks the protocol, sends bytes with another digest, or
/// makes no progress for `patience`. Then it is of no use any more.
class Connection {
  public:
    /// Receives the bytes of a fetch in consecutive pieces.
    using Sink = std::function<void(std::span<std::byte const> piece)>;

    struct Settings {
        MeetingTokens tokens;
        Millis patience{5000};
        /// Is called once, from a thread of the connection, with the reason why it ended.
        std::function<void(std::string const& why)> ended = [](std::string const&) {};
    };
    Connection(std::unique_ptr<FrameStream> stream, std::shared_ptr<Offers const> offers,
               Settings settings);
    /// Ends the connection.
    ~Connection();
    Connection(Connection const&) = delete;
    Connection& operator=(Connection const&) = delete;

    /// Waits until the other end has shown its token. Returns false if it has not by `until`, or if
    /// the connection has ended.
    [[nodiscard]] bool wait_until_ready(MonoTime until);
    /// Fetches the bytes with this digest. One fetch is under way at a time; others wait. Returns
    /// why it failed; then the bytes that `sink` received have no meaning. If it fails because the
    /// other end does not offer the bytes, the connection goes on. It also goes on after a
    /// cancelled fetch. Then the rest of the bytes arrives first, and until then all fetches fail.
    [[nodiscard]] tl::expected<void, std::string> fetch(Digest const& digest, std::int64_t bytes,
                                                        Sink const& sink, CallLimits const& call);
    /// Returns why the connection has ended; empty if it goes on.
    [[nodiscard]] std::string why_ended() const;
    void end(std::string const& why);
    /// Begins to tell the other end that this site leaves.
    void say_leave();
    /// Tells it, and ends the connection as soon as the stream has taken the message, at the latest
    /// at `until`.
    void leave(MonoTime until);
    /// The reason why a connection ends whose other end has left in this way.
    static constexpr char const* has_left = "it has left";

  private:
    using Why = std::optional<std::string>;

    struct Request {  ///< of the other end
        std::uint64_t id{};
        Digest digest;
        std::int64_t bytes{};
    };
    struct Fetch {  ///< of this end
        std::uint64_t id{};
        Digest digest;
        std::int64_t bytes{};
        Sink const* sink{};  ///< null if nobody waits for the fetch any more
        Sha256 hash{};
        std::int64_t arrived{};
        bool follows{false};   ///< the other end has said that the data follow
        bool complete{false};  ///< and have the digest
        bool refused{false};
        MonoTime progress{};
    };
    using OutgoingMessage = std::variant<std::vector<std::byte>, Request>;

    void read();
    void write();
    /// Runs read() or write(), and ends the connection if it throws.
    void run(void (Connection::*work)());
    [[nodiscard]] Why take(Frame const& frame);
    [[nodiscard]] Why take_hello(Frame const& frame);
    [[nodiscard]] Why take_request(Frame const& frame);
    [[nodiscard]] Why take_reply(FrameHead const& head);
    [[nodiscard]] Why take_data(Frame const& frame);
    [[nodiscard]] Result<void> send(FrameHead const& head, std::span<std::byte const> body);
    [[nodiscard]] Result<void> serve(Request const& request);
    /// Sends the frames that wait, but serves no request.
    [[nodiscard]] Result<void> send_waiting();
    void enqueue(FrameHead const& head, std::span<std::byte const> body);
    /// Waits for the end of the fetch that is under way.
    [[nodiscard]] tl::expected<void, std::string> wait_for_fetch(
        CallLimits const& call, std::unique_lock<std::mutex>& lock);

    std::unique_ptr<FrameStream> stream_;
    std::shared_ptr<Offers const> offers_;
    Settings settings_;

    std::timed_mutex turn_;  ///< of the fetch that is under way
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    bool ready_{false};
    bool ended_{false};
    std::string why_;
    bool leaving_{false};
    bool left_{false};  ///< the stream has taken this side's `leave`
    bool serving_{false};
    std::uint64_t fetches_{0};
    std::optional<Fetch> fetch_;
    std::deque<OutgoingMessage> outgoing_;
    std::thread reader_;
    std::thread writer_;
};

}  // namespace curtail::bridge
