// SPDX-License-Identifier: Apache-2.0
#include "trainer/comm/patience.hpp"

#include <algorithm>

namespace curtail::comm {

std::string late_rank(Patience const& patience)
{
    bool const stopping = patience.stop_end && patience.stop_end();
    return "a rank did not arrive " +
           (stopping ? "in the time for a stop" : "within " + format_duration(patience.limit));
}

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
