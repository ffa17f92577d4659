#include "train/stop_signal.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <stdexcept>

namespace curtail::train {
namespace {

// A handler has no argument of ours: the flag it raises must be reachable without one. Only StopSignal touches it.
std::atomic<bool> stop_requested{false};
constexpr std::array stop_signals{SIGUSR1, SIGTERM, SIGINT};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void raise_stop(int) { stop_requested.store(true, std::memory_order_relaxed); }

}  // namespace

StopSignal::StopSignal()
{
    stop_requested = false;
    sigset_t signals;
    sigemptyset(&signals);
    for (int const number : stop_signals) {
        struct sigaction action {};
        action.sa_handler = raise_stop;
        action.sa_flags = SA_RESTART;
        if (sigaction(number, &action, nullptr) != 0) throw std::runtime_error("cannot install a signal handler");
        sigaddset(&signals, number);
    }
    if (pthread_sigmask(SIG_UNBLOCK, &signals, nullptr) != 0) throw std::runtime_error("cannot unblock signals");
}

StopSignal::~StopSignal()
{
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    for (int const number : stop_signals) sigaction(number, &ignored, nullptr);
}

bool StopSignal::raised() const { return stop_requested.load(std::memory_order_relaxed); }

}  // namespace curtail::train
