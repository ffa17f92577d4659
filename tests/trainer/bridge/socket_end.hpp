// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/socket.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "trainer/bridge/frame.hpp"
#include "trainer/bridge/message_socket.hpp"
#include "trainer/bridge/stream.hpp"

namespace curtail::test {

/// An end of a bridge in this process: a socket instead of MPI.
class SocketEnd final : public bridge::ConnectableStream {
  public:
    /// `owned` lives as long as the end.
    SocketEnd(Fd socket, bridge::ListenAddress address, std::shared_ptr<void> owned = {})
        : socket_(std::move(socket), bridge::largest_frame),
          address_(std::move(address)),
          owned_(std::move(owned))
    {
    }
    [[nodiscard]] bridge::ListenAddress const& address() const override { return address_; }
    [[nodiscard]] Result<std::string> wait_until_connected(CallLimits const&) override
    {
        return "sockets";
    }
    [[nodiscard]] Result<void> send(Pieces const& frame, MonoTime until) override
    {
        return socket_.send(bridge::MessageType::frame, frame, until);
    }
    [[nodiscard]] Result<std::optional<std::span<std::byte const>>> receive(MonoTime until) override
    {
        auto const message = socket_.receive(until);
        if (!message) return tl::unexpected(message.error());
        if (!*message) return std::optional<std::span<std::byte const>>{};
        return std::optional<std::span<std::byte const>>((*message)->body);
    }
    void end() override { socket_.shut_down(); }

  private:
    bridge::MessageSocket socket_;
    bridge::ListenAddress address_;
    std::shared_ptr<void> owned_;
};

inline std::pair<Fd, Fd> connected_sockets()
{
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::runtime_error("socketpair");
    return {Fd(ends[0]), Fd(ends[1])};
}

inline std::pair<std::unique_ptr<SocketEnd>, std::unique_ptr<SocketEnd>> connected_ends()
{
    auto [one, other] = connected_sockets();
    return {std::make_unique<SocketEnd>(std::move(one), bridge::ListenAddress{}),
            std::make_unique<SocketEnd>(std::move(other), bridge::ListenAddress{})};
}

}  // namespace curtail::test
