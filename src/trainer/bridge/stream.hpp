// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/core/call_limits.hpp"
#include "base/core/pieces.hpp"
#include "base/core/result.hpp"
#include "base/core/time.hpp"
#include "trainer/bridge/address.hpp"

namespace curtail::bridge {

/// Carries frames between the leaders of two sites, in both directions and in order. One thread may
/// send while another receives.
class FrameStream {
  public:
    virtual ~FrameStream() = default;
    /// Sends one frame. Fails with `unavailable` if the stream has ended or if it does not take the
    /// frame before `until`; then it is of no use any more.
    [[nodiscard]] virtual Result<void> send(Pieces const& frame, MonoTime until) = 0;
    /// Returns the next frame, valid until the next call, or an empty optional if there is none
    /// before `until`. Fails with `unavailable` if the stream has ended.
    [[nodiscard]] virtual Result<std::optional<std::span<std::byte const>>> receive(
        MonoTime until) = 0;
    /// Ends the stream, and soon after all calls of other threads. Any thread may call it.
    virtual void end() = 0;
};

/// A stream that is not connected yet.
class ConnectableStream : public FrameStream {
  public:
    /// Returns where this end waits for another; empty if it connects itself.
    [[nodiscard]] virtual ListenAddress const& address() const = 0;
    /// Waits until the two ends are connected, and returns the name of the MPI library. Fails with
    /// `unavailable` if they are not when the call is over.
    [[nodiscard]] virtual Result<std::string> wait_until_connected(CallLimits const& call) = 0;
};

/// Makes ends of bridges.
struct Ends {
    /// Makes an end that waits for another. Fails with `unavailable` if it does not wait when the
    /// call is over.
    std::function<Result<std::unique_ptr<ConnectableStream>>(CallLimits const& call)> wait_at_port;
    /// Makes an end that connects with the one at `address`, which check_address() has accepted.
    std::function<Result<std::unique_ptr<ConnectableStream>>(ListenAddress const& address,
                                                             CallLimits const& call)>
        connect_to;
};

}  // namespace curtail::bridge
