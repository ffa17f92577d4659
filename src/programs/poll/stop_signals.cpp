// SPDX-License-Identifier: Apache-2.0
#include "programs/poll/stop_signals.hpp"

namespace curtail::programs {

StopSignals::StopSignals()
{
    sigemptyset(&set_);
    sigaddset(&set_, SIGINT);
    sigaddset(&set_, SIGTERM);
    struct sigaction hangup {};
    if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&set_, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    listener_ = std::jthread([this](std::stop_token const& stop) {
        timespec const pause{0, 100'000'000};
        while (!stop.stop_requested())
            if (sigtimedwait(&set_, nullptr, &pause) > 0) request_.raise();
    });
}

}  // namespace curtail::programs
