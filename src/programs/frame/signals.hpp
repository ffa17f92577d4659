// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <signal.h>

#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

namespace curtail::programs {

/// Starts a thread that calls `on_signal` for each signal of `signals` that arrives. Blocks these
/// signals in the calling thread. Call this function before any other thread starts, because a new
/// thread inherits the set of blocked signals from its creator.
[[nodiscard]] std::jthread listen_for_signals(std::vector<int> const& signals,
                                              std::function<void(int signal)> on_signal);

/// Listens in the same way. The first signal requests `stop`, and a second one ends the process at
/// once with 128 + its number. `stop` must outlive the thread.
[[nodiscard]] std::jthread stop_on_signals(std::vector<int> const& signals, std::stop_source& stop);

}  // namespace curtail::programs
