// SPDX-License-Identifier: Apache-2.0
#include "trainer/job/stop_signal.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <stdexcept>

#include "base/core/clock.hpp"

namespace curtail::trainer {
namespace {

constexpr std::int64_t never = -1;
constexpr int cause_bits = 3;

// Global, because a signal handler takes no argument of ours. Only StopSignal uses them. The first
// packs time and cause into one word, so that a reader never sees one without the other.
std::atomic<std::int64_t> first_request{never};
std::atomic<std::int64_t> terminated_ms{never};
constexpr std::array stop_signals{SIGUSR1, SIGUSR2, SIGTERM, SIGINT};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

void set_once(std::atomic<std::int64_t>& value, std::int64_t wanted)
{
    auto expected = never;
    value.compare_exchange_strong(expected, wanted, std::memory_order_relaxed);
}

void note_request(StopCause cause)
{
    // clock_gettime(), which monotonic_now() calls, is async-signal-safe.
    auto const now = monotonic_now().time_since_epoch().count();
    if (cause == StopCause::terminate) set_once(terminated_ms, now);
    set_once(first_request, (now << cause_bits) | static_cast<std::int64_t>(cause));
}

extern "C" void note_signal(int number)
{
    if (number == SIGTERM || number == SIGUSR2) note_request(StopCause::terminate);
    else note_request(number == SIGINT ? StopCause::interrupt : StopCause::drain);
}

void handle(int number, void (*handler)(int), int flags = 0)
{
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | flags;
    if (sigaction(number, &action, nullptr) != 0)
        throw std::runtime_error("cannot set the action of a signal");
}

std::optional<MonoTime> time_of(std::int64_t ms)
{
    return ms == never ? std::nullopt : std::optional(MonoTime{Millis{ms}});
}

}  // namespace

char const* to_text(StopCause cause)
{
    constexpr std::array names{"drain",      "terminate",  "interrupt",
                               "permission", "other-rank", "failure"};
    return names.at(static_cast<std::size_t>(cause));
}

StopSignal::StopSignal()
{
    first_request = never;
    terminated_ms = never;
    sigset_t signals;
    sigemptyset(&signals);
    for (int const number : stop_signals) {
        // A process in the background may ignore SIGINT until it catches it.
        if (number != SIGINT) handle(number, SIG_DFL);
        sigaddset(&signals, number);
    }
    if (pthread_sigmask(SIG_UNBLOCK, &signals, nullptr) != 0)
        throw std::runtime_error("cannot unblock signals");
}

void StopSignal::catch_signals() const
{
    // A second interrupt ends the process at once: a person no longer wants to wait.
    for (int const number : stop_signals)
        handle(number, note_signal, number == SIGINT ? static_cast<int>(SA_RESETHAND) : 0);
}

StopSignal::~StopSignal()
{
    for (int const number : stop_signals) handle(number, SIG_IGN);
}

std::optional<MonoTime> StopSignal::raised_at() const
{
    auto const request = first_request.load(std::memory_order_relaxed);
    return time_of(request == never ? never : request >> cause_bits);
}

StopCause StopSignal::cause() const
{
    auto const request = first_request.load(std::memory_order_relaxed);
    return static_cast<StopCause>(request & ((1 << cause_bits) - 1));
}

std::optional<MonoTime> StopSignal::terminated_at() const
{
    return time_of(terminated_ms.load(std::memory_order_relaxed));
}

void StopSignal::request(StopCause cause) const { note_request(cause); }

std::optional<MonoTime> stop_deadline(StopSignal const& stop, StopTimes const& times,
                                      StopPoint point)
{
    auto const percent = static_cast<int>(point);
    auto const raised = stop.raised_at();
    if (!raised) return std::nullopt;
    auto deadline = *raised + times.grace * percent / 100;
    auto const terminated = stop.terminated_at();
    if (terminated && times.kill_wait)
        deadline = std::min(deadline, *terminated + *times.kill_wait * percent / 100);
    return deadline;
}

}  // namespace curtail::trainer
