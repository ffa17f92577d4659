// SPDX-License-Identifier: Apache-2.0
#include "base/core/time_limit.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/core/clock.hpp"

namespace curtail {

TimeLimit::TimeLimit(Millis limit, Error error, LogError log_error)
    : thread_([limit, error = std::move(error), log_error = std::move(log_error)](
                  std::stop_token const& is_over) { run(is_over, limit, error, log_error); })
{
}

void TimeLimit::run(std::stop_token const& is_over, Millis limit, Error const& error,
                    LogError const& log_error)
{
    // In small pieces, of which a suspended process counts at most one.
    constexpr Millis piece{500};
    for (auto left = limit; left > Millis{0}; left -= std::min(left, piece))
        if (!sleep_unless_stopped(is_over, std::min(left, piece))) return;
    log_error(error);
    std::_Exit(static_cast<int>(error.code));
}

}  // namespace curtail
