// SPDX-License-Identifier: Apache-2.0
#include "train/stop_signal.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <stdexcept>

#include "core/clock.hpp"

namespace curtail::train {
namespace {

// Global, because a signal handler takes no argument of ours. Only StopSignal uses it.
constexpr std::int64_t never = -1;
std::atomic<std::int64_t> stop_requested_ms{never};  // first signal, by the monotonic clock
constexpr std::array stop_signals{SIGUSR1, SIGTERM, SIGINT};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// clock_gettime(), which monotonic_now() calls, is async-signal-safe.
extern "C" void raise_stop(int)
{
    auto expected = never;
    stop_requested_ms.compare_exchange_strong(expected, monotonic_now().time_since_epoch().count(),
                                              std::memory_order_relaxed);
}

}  // namespace

StopSignal::StopSignal()
{
    stop_requested_ms = never;
    sigset_t signals;
    sigemptyset(&signals);
    for (int const number : stop_signals) {
        struct sigaction action {};
        action.sa_handler = raise_stop;
        action.sa_flags = SA_RESTART;
        if (sigaction(number, &action, nullptr) != 0)
            throw std::runtime_error("cannot install a signal handler");
        sigaddset(&signals, number);
    }
    if (pthread_sigmask(SIG_UNBLOCK, &signals, nullptr) != 0)
        throw std::runtime_error("cannot unblock signals");
}

StopSignal::~StopSignal()
{
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    for (int const number : stop_signals) sigaction(number, &ignored, nullptr);
}

std::optional<MonoTime> StopSignal::raised_at() const
{
    auto const requested = stop_requested_ms.load(std::memory_order_relaxed);
    return requested == never ? std::nullopt : std::optional(MonoTime{Millis{requested}});
}

}  // namespace curtail::train
