// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/core/files.hpp"
#include "base/core/pieces.hpp"
#include "base/core/result.hpp"
#include "base/core/time.hpp"

namespace curtail::bridge {

/// What a leader and its curtail-bridge tell each other.
enum class MessageType : std::uint8_t {
    port = 1,       ///< from the bridge: the MPI port that it has opened
    connected = 2,  ///< from the bridge: the name of the MPI library
    frame = 3,      ///< from and to the other site
    failed = 4      ///< from the bridge, as its last message: why it ends
};

/// A message. `body` is valid until the next receive(), and its receiver may exchange it for other
/// memory.
struct Message {
    MessageType type{};
    std::vector<std::byte>& body;
    [[nodiscard]] std::string_view text() const
    {
        return {reinterpret_cast<char const*>(body.data()), body.size()};
    }
};

/// Messages over a stream socket. Each is its length, as a little-endian integer of 4 bytes, its
/// type and its body. One thread may send while another receives.
class MessageSocket {
  public:
    /// Takes a connected socket, and makes it nonblocking. Messages of more than `limit` bytes are
    /// errors.
    MessageSocket(Fd socket, std::size_t limit);

    /// Sends a message. Waits until the other end takes it, or until `until`. Fails with
    /// `unavailable` if the other end has gone or takes too long.
    [[nodiscard]] Result<void> send(MessageType type, Pieces const& body, MonoTime until);
    /// Returns the next message, or an empty optional if it is not complete by `until`. Fails with
    /// `unavailable` if the other end has gone, and with `protocol` if it sent no message.
    [[nodiscard]] Result<std::optional<Message>> receive(MonoTime until);
    /// Ends both directions, also for calls of other threads.
    void shut_down();
    [[nodiscard]] int fd() const { return socket_.get(); }

  private:
    static constexpr std::size_t head_bytes = 5;

    [[nodiscard]] Result<void> send_all(std::span<std::byte const> bytes, MonoTime until);
    /// Fills `place` from `*have` on with what has arrived. Returns false if the socket has no
    /// more.
    [[nodiscard]] Result<bool> fill(std::span<std::byte> place, std::size_t& have);

    Fd socket_;
    std::size_t limit_;
    std::array<std::byte, head_bytes> head_{};
    std::size_t head_have_{0};
    std::vector<std::byte> body_;
    std::size_t body_have_{0};
};

}  // namespace curtail::bridge
