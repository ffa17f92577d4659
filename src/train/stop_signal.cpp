#include "train/stop_signal.hpp"

#include <atomic>
#include <stdexcept>

namespace curtail::train {
namespace {

// A handler has no argument of ours: the flag it raises must be reachable without one. Only StopSignal touches it.
std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void raise_stop(int) { stop_requested.store(true, std::memory_order_relaxed); }

}  // namespace

StopSignal::StopSignal()
{
    stop_requested = false;
    sigset_t signals;
    sigemptyset(&signals);
    for (int const number : {SIGUSR1, SIGTERM, SIGINT}) {
        struct sigaction action {};
        action.sa_handler = raise_stop;
        action.sa_flags = SA_RESTART;
        struct sigaction before {};
        if (sigaction(number, &action, &before) != 0) throw std::runtime_error("cannot install a signal handler");
        previous_.push_back({number, before});
        sigaddset(&signals, number);
    }
    if (pthread_sigmask(SIG_UNBLOCK, &signals, nullptr) != 0) throw std::runtime_error("cannot unblock signals");
}

StopSignal::~StopSignal()
{
    for (auto const& p : previous_) sigaction(p.number, &p.action, nullptr);
}

bool StopSignal::raised() const { return stop_requested.load(std::memory_order_relaxed); }

}  // namespace curtail::train
