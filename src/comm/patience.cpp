// SPDX-License-Identifier: Apache-2.0
#include "comm/patience.hpp"

#include <algorithm>

namespace curtail::comm {

bool WaitTimer::over(MonoTime now)
{
    constexpr Millis tick{1000};
    waited_ += std::min(now - last_, tick);
    last_ = now;
    if (patience_.stop_end)
        if (auto const end = patience_.stop_end()) return now >= *end;
    return waited_ >= patience_.limit;
}

}  // namespace curtail::comm
