// SPDX-License-Identifier: Apache-2.0
#include "trainer/bridge/message_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/core/clock.hpp"

namespace curtail::bridge {
namespace {

tl::unexpected<Error> gone(std::string why)
{
    return fail(ExitCode::unavailable, "the other end of the socket is gone", std::move(why));
}

// Waits until the socket is ready. Returns false at `until`.
bool wait_for(int fd, short events, MonoTime until)
{
    auto const left = until - monotonic_now();
    if (left <= Millis{0}) return false;
    pollfd watched{fd, events, 0};
    constexpr Millis longest{1000};
    (void)::poll(&watched, 1, static_cast<int>(std::min(left, longest).count()));
    return true;
}

}  // namespace

MessageSocket::MessageSocket(Fd socket, std::size_t limit)
    : socket_(std::move(socket)), limit_(limit)
{
    int const flags = fcntl(socket_.get(), F_GETFL);
    (void)fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
}

Result<void> MessageSocket::send(MessageType type, Pieces const& body, MonoTime until)
{
    std::array<std::byte, head_bytes> head{};
    for (std::size_t i = 0; i < 4; ++i)
        head[i] = static_cast<std::byte>(body.size() >> (8 * i) & 255);
    head[4] = static_cast<std::byte>(type);
    auto sent = send_all(head, until);
    for (auto const piece : body.list())
        if (sent) sent = send_all(piece, until);
    return sent;
}

Result<void> MessageSocket::send_all(std::span<std::byte const> bytes, MonoTime until)
{
    while (!bytes.empty()) {
        auto const n = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n >= 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(n));
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return gone(errno_text(errno));
        if (!wait_for(socket_.get(), POLLOUT, until)) return gone("it takes no data");
    }
    return {};
}

Result<bool> MessageSocket::fill(std::span<std::byte> place, std::size_t& have)
{
    while (have < place.size()) {
        auto const n = ::recv(socket_.get(), place.data() + have, place.size() - have, 0);
        if (n == 0) return gone("it has closed the socket");
        if (n > 0) have += static_cast<std::size_t>(n);
        else if (errno == EAGAIN) return false;
        else if (errno != EINTR) return gone(errno_text(errno));
    }
    return true;
}

Result<std::optional<Message>> MessageSocket::receive(MonoTime until)
{
    for (;;) {
        auto whole = fill(head_, head_have_);
        if (whole && *whole) {
            std::size_t length = 0;
            for (std::size_t i = 4; i-- > 0;)
                length = length << 8 | std::to_integer<unsigned>(head_[i]);
            if (length > limit_)
                return fail(ExitCode::protocol, "the other end of the socket is no bridge",
                            "it announced a message of " + std::to_string(length) + " bytes");
            body_.resize(length);
            whole = fill(body_, body_have_);
        }
        if (!whole) return tl::unexpected(whole.error());
        if (*whole) {
            head_have_ = 0;
            body_have_ = 0;
            return Message{static_cast<MessageType>(head_[4]), body_};
        }
        if (!wait_for(socket_.get(), POLLIN, until)) return std::optional<Message>{};
    }
}

void MessageSocket::shut_down() { (void)::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace curtail::bridge
