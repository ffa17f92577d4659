// SPDX-License-Identifier: Apache-2.0
#include "programs/status/watch.hpp"

#include <poll.h>

#include <atomic>

namespace curtail::programs {
namespace {

// Global, because a signal handler takes no argument of ours.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void interrupt(int) { interrupted = true; }

// Blocks the two signals; the destructor restores what was blocked before.
class BlockedSignals {
  public:
    explicit BlockedSignals(sigset_t const& before) : before_(before)
    {
        sigset_t both;
        sigemptyset(&both);
        sigaddset(&both, SIGINT);
        sigaddset(&both, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &both, nullptr);
    }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    BlockedSignals(BlockedSignals const&) = delete;
    BlockedSignals& operator=(BlockedSignals const&) = delete;

  private:
    sigset_t const& before_;
};

}  // namespace

Interrupts::Interrupts()
{
    interrupted = false;
    pthread_sigmask(SIG_SETMASK, nullptr, &before_);
    struct sigaction action {};
    action.sa_handler = interrupt;
    action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    for (int const number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

bool Interrupts::wait(Millis time) const
{
    // A signal between the check and the wait would otherwise be noticed only after the wait.
    BlockedSignals const blocked(before_);
    if (interrupted) return false;
    timespec const limit{time.count() / 1000, time.count() % 1000 * 1'000'000};
    ppoll(nullptr, 0, &limit, &before_);
    return !interrupted;
}

}  // namespace curtail::programs
