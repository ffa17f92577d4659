// SPDX-License-Identifier: Apache-2.0
#include "trainer/rounds/watchdog.hpp"

#include <algorithm>

#include "base/core/clock.hpp"

namespace curtail::trainer {

Watchdog::Watchdog(Limits limits) : limits_(std::move(limits))
{
    if (limits_.end_process) thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog()
{
    disarm();
    if (thread_.joinable()) thread_.join();
}

void Watchdog::stepped(Millis duration)
{
    std::lock_guard const guard(mutex_);
    longest_step_ = std::max(longest_step_, duration);
}

void Watchdog::leaving(std::optional<Error> error)
{
    std::lock_guard const guard(mutex_);
    leaving_since_ = monotonic_now();
    error_ = std::move(error);
}

void Watchdog::disarm()
{
    std::lock_guard const guard(mutex_);
    disarmed_ = true;
    changed_.notify_all();
}

// No launcher waits for a site that leaves on its own, so a long but healthy step gets more time.
bool Watchdog::is_late() const
{
    auto const exit_by = limits_.exit_by ? limits_.exit_by() : std::nullopt;
    auto const now = monotonic_now();
    if (exit_by && now >= *exit_by) return true;
    return leaving_since_ && now >= *leaving_since_ + std::max(limits_.grace, 4 * longest_step_);
}

void Watchdog::run()
{
    constexpr Millis interval{200};
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, interval, [this] { return disarmed_; })) {
        if (!is_late()) continue;
        auto const error =
            error_.value_or(Error{ExitCode::unavailable, "cannot leave in time",
                                  "the ranks have not returned from their step; one may hang",
                                  "start again to continue from the last commit"});
        lock.unlock();
        limits_.end_process(error);
        return;
    }
}

}  // namespace curtail::trainer
