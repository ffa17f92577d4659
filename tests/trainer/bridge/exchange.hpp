// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "socket_end.hpp"

namespace curtail::test {

/// Where the ends of one test meet, instead of MPI.
class Exchange {
  public:
    bridge::Ends ends()
    {
        return {[this](CallLimits const&) { return wait(); },
                [this](bridge::ListenAddress const& address, CallLimits const&) {
                    return connect(address);
                }};
    }
    std::string server = "12.0;tcp://127.0.0.1:5000";
    std::atomic<int> connects{0};
    std::atomic<int> waits{0};         ///< ends that have begun to wait
    std::atomic<int> most_at_once{0};  ///< of these

  private:
    Result<std::unique_ptr<bridge::ConnectableStream>> wait()
    {
        std::lock_guard const lock(mutex_);
        auto [mine, theirs] = test::connected_sockets();
        auto const port = std::to_string(++ports_);
        waiting_.emplace(port, std::move(theirs));
        ++waits;
        most_at_once = std::max(most_at_once.load(), ++*open_);
        std::shared_ptr<void> const counted(nullptr, [open = open_](void*) { --*open; });
        return std::make_unique<SocketEnd>(std::move(mine), bridge::ListenAddress{server, port},
                                           counted);
    }
    Result<std::unique_ptr<bridge::ConnectableStream>> connect(bridge::ListenAddress const& address)
    {
        std::lock_guard const lock(mutex_);
        ++connects;
        auto found = waiting_.extract(address.port);
        if (!found) return fail(ExitCode::unavailable, "cannot connect", "no such port");
        return std::make_unique<SocketEnd>(std::move(found.mapped()), bridge::ListenAddress{});
    }
    std::mutex mutex_;
    int ports_{0};
    std::shared_ptr<std::atomic<int>> open_{std::make_shared<std::atomic<int>>(0)};
    std::map<std::string, Fd> waiting_;
};

}  // namespace curtail::test
