// SPDX-License-Identifier: Apache-2.0
#include "programs/frame/signals.hpp"

#include "programs/frame/program.hpp"

namespace curtail::programs {

std::jthread listen_for_signals(std::vector<int> const& signals,
                                std::function<void(int signal)> on_signal)
{
    sigset_t set;
    sigemptyset(&set);
    for (int const number : signals) sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    return std::jthread([set, on_signal = std::move(on_signal)](std::stop_token const& ended) {
        timespec const pause{0, 100'000'000};
        while (!ended.stop_requested())
            if (int const number = sigtimedwait(&set, nullptr, &pause); number > 0)
                on_signal(number);
    });
}

std::jthread stop_on_signals(std::vector<int> const& signals, std::stop_source& stop)
{
    return listen_for_signals(signals, [&stop](int number) {
        if (!stop.request_stop()) end_at_once(128 + number);
    });
}

}  // namespace curtail::programs
