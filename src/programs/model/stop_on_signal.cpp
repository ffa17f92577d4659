// SPDX-License-Identifier: Apache-2.0
#include "stop_on_signal.hpp"

#include "programs/frame/program.hpp"

namespace curtail::programs::model {

StopOnSignal::StopOnSignal()
{
    sigemptyset(&set_);
    for (int const number : {SIGUSR1, SIGTERM, SIGINT}) sigaddset(&set_, number);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    listener_ = std::jthread([this](std::stop_token const& ended) {
        timespec const pause{0, 100'000'000};
        while (!ended.stop_requested())
            if (int const number = sigtimedwait(&set_, nullptr, &pause); number > 0)
                on_signal(number);
    });
}

void StopOnSignal::on_signal(int number)
{
    if (!stop_.request_stop()) end_at_once(128 + number);
}

}  // namespace curtail::programs::model
