// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/polling.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace curtail::comm {

using std::chrono::microseconds;

bool Backoff::spin()
{
    constexpr microseconds longest{200};
    waited_ = std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - begin_);
    if (waited_ >= longest) return false;
    sched_yield();
    return true;
}

void Backoff::nap() const
{
    constexpr microseconds shortest{20};
    constexpr microseconds longest{1000};
    std::this_thread::sleep_for(std::clamp(waited_ / 16, shortest, longest));
}

}  // namespace curtail::comm
